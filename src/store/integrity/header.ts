import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'

/**
 * Gives a copy of a damaged database the header of a sound one, where its own is not that of a database any more: the rest of
 * the file may be whole. Numbers that belong to the file are set to what is safe (its size, no list of free pages).
 */
export function mendHeader(copy: string, sound: string): boolean {
  const fd = openSync(copy, 'r+')
  try {
    const own = Buffer.alloc(HEADER_BYTES)
    readSync(fd, own, 0, HEADER_BYTES, 0)
    const model = headerOf(sound)
    if (isPlausible(own, model)) return false
    const pages = Math.floor(fstatSync(fd).size / model.readUInt16BE(16))
    model.writeUInt32BE(pages, 28)
    model.writeUInt32BE(0, 32)
    model.writeUInt32BE(0, 36)
    const root = own.readUInt32BE(52)
    if (root <= pages) model.writeUInt32BE(root, 52)
    writeSync(fd, model, 0, HEADER_BYTES, 0)
    return true
  } finally {
    closeSync(fd)
  }
}

/** https://www.sqlite.org/fileformat.html#the_database_header: what must be as we make it. */
function isPlausible(own: Buffer, model: Buffer): boolean {
  return (
    own.toString('latin1', 0, 16) === MAGIC &&
    FIXED.every(([at, end]) => own.subarray(at, end).equals(model.subarray(at, end)))
  )
}

/** Page size and format; schema format and text encoding; what kind of database it is. */
const FIXED = [
  [16, 24],
  [44, 48],
  [56, 60],
  [68, 72],
] as const

function headerOf(file: string): Buffer {
  const fd = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(HEADER_BYTES)
    readSync(fd, bytes, 0, HEADER_BYTES, 0)
    return bytes
  } finally {
    closeSync(fd)
  }
}
