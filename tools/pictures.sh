#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pictures of the window, to be looked at: clipped text, overlaps, what isn't aligned.
#   tools/pictures.sh BUILD FOLDER [CAPTURE...]   every view of each capture (the samples), light and dark, 1280x800, 1600x1000, 4K, scale 2
#   tools/pictures.sh BUILD FOLDER --programs     the same of five train steps: the transformer LM of the samples, and with Flax (in .venv) a
#                                                 convolutional VAE, GPT-2, a neural ODE and a scanned bf16 ViT (tools/pictured_programs.py)
#   tools/pictures.sh BUILD --docs                those of the README
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
where=$2
shift 2
export QT_QPA_PLATFORM=offscreen

# picture CAPTURE OUT ARGUMENT...
picture() { "$build/jaxscope-gui" "$1" --screenshot "$2" "${@:3}" 2>/dev/null || echo "no picture: $2" >&2; }

if [ "$where" = --docs ]; then  # residual 51 is the first block's mlp_in
  sample=$root/samples/captures/transformer_lm.jaxscope
  picture "$sample" "$root/docs/images/window-program.png" --tab program --size 1600x1000
  picture "$sample" "$root/docs/images/window-split.png" --tab split --select 51 --size 1600x1000
  picture "$sample" "$root/docs/images/window-memory-dark.png" --tab memory --tab policies --policy nothing_saveable --theme dark --size 1600x1000
  picture "$sample" "$root/docs/images/window-source.png" --tab source --select 51 --run --size 1600x1000
  picture "$root/samples/captures/llama_7b.jaxscope" "$root/docs/images/llama-7b.png" --tab memory --tab policies --size 1600x1000
  exit 0
fi

mkdir -p "$where"
if [ "${1:-}" = --programs ]; then
  set -- "$root/samples/captures/transformer_lm.jaxscope"
  for program in conv_vae gpt2 ode scanned_vit; do
    PYTHONPATH=$root/app/capture "${JAXSCOPE_PYTHON:-$root/.venv/bin/python}" -m jaxscope "$root/tools/pictured_programs.py:$program" \
      -o "$where/$program.jaxscope"
    set -- "$@" "$where/$program.jaxscope"
  done
fi
[ $# -gt 0 ] || set -- "$root"/samples/captures/*.jaxscope
# A process for each size takes all views: what is computed for them is computed once.
views=(program split memory lines donated source jaxpr transforms policies donation buffers)
tabs=()
for view in "${views[@]}"; do tabs+=(--tab "$view"); done
for capture in "$@"; do
  name=$(basename "$capture" .jaxscope)
  for size in 1280x800 1600x1000 3840x2160; do
    picture "$capture" "$where/$name-{tab}-{theme}-$size.png" "${tabs[@]}" --size "$size"
  done
  QT_SCALE_FACTOR=2 picture "$capture" "$where/$name-{tab}-{theme}-scale2.png" "${tabs[@]}" --size 960x540
done
missing=0
for capture in "$@"; do
  for tab in "${views[@]}"; do
    for theme in light dark; do
      for size in 1280x800 1600x1000 3840x2160 scale2; do
        file=$where/$(basename "$capture" .jaxscope)-$tab-$theme-$size.png
        [ -s "$file" ] || { echo "no picture: $file" >&2; missing=1; }
      done
    done
  done
done
exit $missing
