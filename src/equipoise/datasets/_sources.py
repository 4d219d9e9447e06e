"""Every data file: the sha256 of its content, and where its publisher keeps it."""

from __future__ import annotations

from dataclasses import dataclass

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
UCI = "https://archive.ics.uci.edu/static/public"
ESL = "https://hastie.su.domains/ElemStatLearn/datasets"
PROPUBLICA = (
    "https://raw.githubusercontent.com/propublica/compas-analysis/"
    "bafff5da3f2e45eca6c2d5055faad269defd135a"
)
RANKEVAL = "https://files.pythonhosted.org/packages/source/r/rankeval/rankeval-0.8.2.tar.gz"


@dataclass(frozen=True)
class Source:
    """One file.

    Attributes
    ----------
    sha256 : str
        Of the content, after all unpacking.
    url : str
        The publisher's address; empty where no public one is left.
    members : tuple of str
        The way to the file through the archive at `url`, outermost first.
    squeezed : str
        A second sha256, of the content with every run of blanks made one and every line end one
        newline: for files whose values are known but whose white space at the publisher is not.
    """

    sha256: str
    url: str = ""
    members: tuple[str, ...] = ()
    squeezed: str = ""


SOURCES: dict[str, dict[str, Source]] = {
    "adult_a9a": {
        "a9a": Source(
            "7ba53cccb27e2e525f0fb173e1f446d49856e3fb007eb43be4ec6d0f5b3335ca",
            f"{LIBSVM}/binary/a9a",
            squeezed="76b604b2c3f738783537bd3b32893eae66af54b8a41aee534fac1ecea45c1535",
        ),
        "a9a.t": Source(
            "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
            f"{LIBSVM}/binary/a9a.t",
            squeezed="0c3135eb9b9d83a4fa007d6e1a3b719f029db78884dafd5a46a4d7eeb4c2b018",
        ),
        "adult.data": Source(
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            f"{UCI}/2/adult.zip",
            ("adult.data",),
        ),
        "adult.test": Source(
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            f"{UCI}/2/adult.zip",
            ("adult.test",),
        ),
    },
    "bank_marketing": {
        "bank-full.csv": Source(
            "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
            f"{UCI}/222/bank+marketing.zip",
            ("bank.zip", "bank-full.csv"),
        ),
        "bank-additional-full.csv": Source(
            "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
            f"{UCI}/222/bank+marketing.zip",
            ("bank-additional.zip", "bank-additional/bank-additional-full.csv"),
        ),
    },
    "compas": {
        "compas-scores-two-years.csv": Source(
            "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
            f"{PROPUBLICA}/compas-scores-two-years.csv",
        ),
        "compas-scores.csv": Source(
            "c9864c9e48c0a9e32ab23f7ad05a454d7624a4625c2a54d4447921de544fd8a2",
            f"{PROPUBLICA}/compas-scores.csv",
        ),
    },
    "communities_crime": {
        "communities.data": Source(
            "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
            f"{UCI}/183/communities+and+crime.zip",
            ("communities.data",),
        ),
        "communities.names": Source(
            "80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
            f"{UCI}/183/communities+and+crime.zip",
            ("communities.names",),
        ),
    },
    "pendigits": {
        "pendigits.tra": Source(
            "e2b9eb9f0d0467e2b64a4816a3420edf2b8043447576f4b84337aba44a9f97d3",
            f"{UCI}/81/pen+based+recognition+of+handwritten+digits.zip",
            ("pendigits.tra",),
        ),
        "pendigits.tes": Source(
            "8bd03229c5c5291fefe43e45465dd948d2645bf23328b9d993e0b777666b2015",
            f"{UCI}/81/pen+based+recognition+of+handwritten+digits.zip",
            ("pendigits.tes",),
        ),
    },
    "segment": {
        "segment.dat": Source(
            "d8985260e6e47056da89a4e4124c82ee88fd6072e0db139484c50ff4b390cd82",
            f"{UCI}/147/statlog+image+segmentation.zip",
            ("segment.dat",),
            squeezed="d8985260e6e47056da89a4e4124c82ee88fd6072e0db139484c50ff4b390cd82",
        ),
    },
    "usps": {
        "zip.train": Source(
            "abc9f5c75b997cabe66b5d01727d5a681c69298e1641a8d37b55433a52129dc0",
            f"{ESL}/zip.train.gz",
            squeezed="fe0995bb03cea1994752e58c13dc873b734ae8c34d073d55db45477598b2aabc",
        ),
        "zip.test": Source(
            "a5561789bef9135776a98b8e8dcf91c384f8f684911fb2a1fdcb367931463954",
            f"{ESL}/zip.test.gz",
            squeezed="a5561789bef9135776a98b8e8dcf91c384f8f684911fb2a1fdcb367931463954",
        ),
        "usps.t": Source(
            "3839faa29aa5f6bfa0516cdd599fae8ad59b7a3777d09f7ca971d9f1cd8b6c6b",
            f"{LIBSVM}/multiclass/usps.t.bz2",
        ),
    },
    "loans": {  # LendingClub closed its download page
        "LoanStats_2007_2011.csv": Source(
            "441a24eb9cb94411b57eb702d815951069285c40b5da25c4a9201c4aae0cebe9"
        ),
        "2019loans.csv": Source("d84752d0b2f0bbed95b9af4183935afa8775a293cb9e228559a863517c264b4e"),
        "2020Q1loans.csv": Source(
            "e6e99757e2c45a6b1aa9ebbaf6f40b000d88fc86f05a1030aad69bb697cfe478"
        ),
    },
    "mslr": {  # Microsoft's files need a click; this sample is published with the package rankeval
        "msn1.fold1.train.5k.txt": Source(
            "6d1721de961a35fbaef7085dc5b41e2940f0ddb04bab5f7a8566cf7db4158fa6",
            RANKEVAL,
            ("msn1.fold1.train.5k.txt",),
        ),
        "msn1.fold1.test.5k.txt": Source(
            "13d3c638edd23e482c38f4316c2680c938c2eaedbe096970ab30a48e364463d3",
            RANKEVAL,
            ("msn1.fold1.test.5k.txt",),
        ),
    },
}
