/**
 * One spelling for all that a file system may take for the same name: letter case, compatibility forms, characters that some
 * systems ignore, trailing dots and spaces.
 */
export function foldName(name: string): string {
  const lower = name.toLowerCase()
  const plain = ASCII.test(lower) ? lower : fold(lower)
  return plain.endsWith('.') || plain.endsWith(' ') ? plain.replace(/[. ]+$/, '') || plain : plain
}

const ASCII = /^[\x20-\x7e]*$/

function fold(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
}
