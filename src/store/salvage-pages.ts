import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'

/**
 * Replaces the header of a damaged copy with that of a sound database, if its own is no longer valid: the rest of the file
 * may be intact. Numbers that describe the file are set to safe values (its size, no list of free pages).
 */
export function repairHeader(copy: string, sound: string): boolean {
  const fd = openSync(copy, 'r+')
  try {
    const own = Buffer.alloc(HEADER_BYTES)
    readSync(fd, own, 0, HEADER_BYTES, 0)
    const model = readHeader(sound)
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

/** Whether the fixed fields are as we write them: https://www.sqlite.org/fileformat.html#the_database_header */
function isPlausible(own: Buffer, model: Buffer): boolean {
  return (
    own.toString('latin1', 0, 16) === MAGIC &&
    FIXED.every(([at, end]) => own.subarray(at, end).equals(model.subarray(at, end)))
  )
}

/** Page size and format, schema format, text encoding and application id. */
const FIXED = [
  [16, 24],
  [44, 48],
  [56, 60],
  [68, 72],
] as const

function readHeader(file: string): Buffer {
  const fd = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(HEADER_BYTES)
    readSync(fd, bytes, 0, HEADER_BYTES, 0)
    return bytes
  } finally {
    closeSync(fd)
  }
}

type Value = string | number | null

/** One row of a page: its rowid, and its columns in their order. */
export interface LeafRow {
  row: number
  values: Value[]
}

const TABLE_LEAF = 0x0d

/**
 * Yields the rows of every page that looks like a table leaf, even if no other page points to it: the rows may be intact
 * although the inner pages of the table are damaged. https://www.sqlite.org/fileformat.html#b_tree_pages
 */
export function* readLeafRows(file: string): Generator<LeafRow> {
  const bytes = readFileSync(file)
  const size = bytes.readUInt16BE(16) === 1 ? 65_536 : bytes.readUInt16BE(16)
  if (size < 512) return
  for (let start = 0; start + size <= bytes.length; start += size) {
    const head = start === 0 ? 100 : start
    if (bytes[head] !== TABLE_LEAF) continue
    const cells = bytes.readUInt16BE(head + 3)
    for (let cell = 0; cell < cells && head + 10 + 2 * cell <= start + size; cell += 1) {
      const at = start + bytes.readUInt16BE(head + 8 + 2 * cell)
      const row = tryOrUndefined(() => readCell(bytes, at, size))
      if (row) yield row
    }
  }
}

function readCell(bytes: Buffer, at: number, size: number): LeafRow {
  const [length, afterLength] = readVarint(bytes, at)
  const [row, afterRow] = readVarint(bytes, afterLength)
  return { row, values: readRecord(readPayload(bytes, { at: afterRow, length, size })) }
}

/** A payload that does not fit on the page continues on a chain of overflow pages. */
function readPayload(bytes: Buffer, { at, length, size }: { at: number; length: number; size: number }): Buffer {
  const most = size - 35
  if (length <= most) return bytes.subarray(at, at + length)
  const least = Math.floor(((size - 12) * 32) / 255) - 23
  const surplus = least + ((length - least) % (size - 4))
  const local = surplus <= most ? surplus : least
  const parts = [bytes.subarray(at, at + local)]
  let next = bytes.readUInt32BE(at + local)
  for (let left = length - local; left > 0; left -= size - 4) {
    if (next === 0) throw new Error('the chain ends too soon')
    const start = (next - 1) * size
    parts.push(bytes.subarray(start + 4, start + 4 + Math.min(left, size - 4)))
    next = bytes.readUInt32BE(start)
  }
  return Buffer.concat(parts)
}

/** https://www.sqlite.org/fileformat.html#record_format */
function readRecord(record: Buffer): Value[] {
  const [headLength, first] = readVarint(record, 0)
  const types: number[] = []
  for (let at = first; at < headLength; ) {
    const [type, next] = readVarint(record, at)
    types.push(type)
    at = next
  }
  let at = headLength
  return types.map(type => {
    const length = lengthOf(type)
    if (at + length > record.length) throw new Error('the record ends too soon')
    const value = decode(record.subarray(at, at + length), type)
    at += length
    return value
  })
}

function lengthOf(type: number): number {
  return type >= 12 ? Math.floor((type - 12) / 2) : ([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0][type] ?? 0)
}

function decode(bytes: Buffer, type: number): Value {
  if (type === 0) return null
  if (type === 8 || type === 9) return type - 8
  if (type === 7) return bytes.readDoubleBE(0)
  if (type < 7) return Number(bytes.length <= 6 ? bytes.readIntBE(0, bytes.length) : bytes.readBigInt64BE(0))
  if (type % 2 === 1) return bytes.toString('utf8')
  throw new Error('none of our columns holds bytes')
}

/** Seven bits per byte, the highest first. */
function readVarint(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0
  for (let index = 0; index < 8; index += 1) {
    const byte = bytes.readUInt8(at + index)
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return [value, at + index + 1]
  }
  throw new Error('no number of ours is that large')
}

function tryOrUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined // the cell is garbage, or continues on a damaged page
  }
}
