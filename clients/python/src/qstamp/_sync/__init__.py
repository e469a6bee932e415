# Made by `npm run clients` of _async/__init__.py. Do not edit it. Check: b7ce64882ca318fb43fd214670603961
