"""Packs scikit-learn's handwritten digits as images into one archive: digits.tar.gz, a folder for each digit."""

import io
import tarfile

from sklearn.datasets import load_digits


def main():
    digits = load_digits()
    with tarfile.open("digits.tar.gz", "w:gz") as archive:
        for number, (pixels, digit) in enumerate(zip(digits.data, digits.target)):
            image = b"P5 8 8 16\n" + bytes(int(pixel) for pixel in pixels)  # binary PGM, 17 shades of grey
            member = tarfile.TarInfo(f"{digit}/{number:04d}.pgm")
            member.size = len(image)
            archive.addfile(member, io.BytesIO(image))
    print(f"digits.tar.gz: {len(digits.target)} images")


if __name__ == "__main__":
    main()
