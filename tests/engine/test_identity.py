"""Which kernel a process is."""

import subprocess
import sys

ANOTHER_APPLICATION = """
import ipykernel.connect
from traitlets.config import Application
from glassloom.protocol.identity import kernel_id, notebook
class Server(Application): pass
before = kernel_id()
Server.instance()
print(before, kernel_id(), repr(notebook()))
"""


def test_a_process_with_another_application_is_no_kernel_though_it_has_loaded_ipykernel():
    ran = subprocess.run([sys.executable, "-c", ANOTHER_APPLICATION], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["None", "None", "''"]
