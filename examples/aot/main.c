/* Recognises handwritten digits with a model compiled ahead of time; see README.md.
 *
 *     ./digits images.f32 labels.i32 [logits.f32]
 */
#include "digits.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CLASSES (DIGITS_OUTPUT_0_ELEMENTS / DIGITS_IMAGES)
#define DIGITS_IMAGES (DIGITS_INPUT_0_ELEMENTS / 64)

static _Alignas(DIGITS_ALIGNMENT) unsigned char workspace[DIGITS_WORKSPACE_BYTES + 1];
static _Alignas(DIGITS_ALIGNMENT) float logits[DIGITS_OUTPUT_0_ELEMENTS];
static float images[DIGITS_INPUT_0_ELEMENTS];
static int32_t labels[DIGITS_IMAGES];

static void read_all(const char *path, void *into, size_t bytes) {
  FILE *file = fopen(path, "rb");
  if (!file || fread(into, 1, bytes, file) != bytes) {
    fprintf(stderr, "cannot read %zu bytes of %s\n", bytes, path);
    exit(1);
  }
  fclose(file);
}

int main(int count, char **arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: %s images labels [logits]\n", arguments[0]);
    return 2;
  }
  read_all(arguments[1], images, sizeof images);
  read_all(arguments[2], labels, sizeof labels);

  const void *inputs[DIGITS_INPUTS] = {images};
  void *outputs[DIGITS_OUTPUTS] = {logits};
  int status = digits_run(inputs, outputs, workspace);
  if (status != DIGITS_OK) {
    fprintf(stderr, "the model failed with status %d\n", status);
    return 1;
  }

  int right = 0;
  for (int image = 0; image < DIGITS_IMAGES; image++) {
    const float *row = logits + image * CLASSES;
    int best = 0;
    for (int class = 1; class < CLASSES; class++)
      if (row[class] > row[best]) best = class;
    right += best == labels[image];
  }
  printf("%d of %d digits recognised\n", right, (int)DIGITS_IMAGES);

  if (count > 3) {
    FILE *file = fopen(arguments[3], "wb");
    if (!file || fwrite(logits, sizeof logits, 1, file) != 1 || fclose(file)) return 1;
  }
  return 0;
}
