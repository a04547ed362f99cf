from pathlib import Path

from tflm_memopt.registers import generate as steps
from tflm_memopt.registers import header, source
from tflm_memopt.registers.driver import Driver, Function

DRIVER, HEADER, SVD = Path("driver.c"), Path("fields.h"), Path("chip.svd")


def guarded(text: str) -> str:
    return f"#ifndef FIELDS_H_\n#define FIELDS_H_\n{text}\n#endif\n"


def generated(driver: str, fields: str, *, place: bool = False) -> steps.Generated:
    path, text = (SVD, fields) if fields.lstrip().startswith("<") else (HEADER, guarded(fields))
    return steps.generate(DRIVER, driver, path, text, place=place)


def body(driver: str, fields: str) -> str:
    lines = generated(driver, fields).files[DRIVER.name].splitlines()
    return "\n".join(line for line in lines if not line.startswith("#include")).strip()


def parsed(driver: str, fields: str) -> Driver:
    text = guarded(fields)
    return source.read(DRIVER, driver, header.read(HEADER, text), HEADER, text)[1]


def function(driver: str, fields: str) -> Function:
    (found,) = parsed(driver, fields).functions
    return found


def chip(registers: str, effects: str = "", *, reset: bool = True) -> str:
    value = "<resetValue>0</resetValue>" if reset else ""
    return (
        '<device schemaVersion="1.3">\n<name>chip</name><version>1</version><description>d</description>\n'
        f"<addressUnitBits>8</addressUnitBits><width>32</width><size>32</size>{value}\n<peripherals><peripheral>"
        f"<name>dev</name><baseAddress>0x1000</baseAddress>\n<registers>\n{registers}\n</registers></peripheral>"
        f'</peripherals>\n<vendorExtensions><sideEffects peripheral="dev">{effects}</sideEffects></vendorExtensions>\n'
        "</device>\n"
    )


def register(name: str, offset: int, *fields: str, more: str = "") -> str:
    """Write a field as NAME:BIT:BITS or NAME:BIT:BITS:XML."""
    made = []
    for field in fields:
        word, bit, bits, *rest = field.split(":")
        made.append(
            f"<field><name>{word}</name><bitOffset>{bit}</bitOffset><bitWidth>{bits}</bitWidth>{''.join(rest)}</field>"
        )
    inner = "<fields>\n" + "\n".join(made) + "\n</fields>" if made else ""
    return f"<register><name>{name}</name><addressOffset>{offset}</addressOffset>{more}{inner}</register>"
