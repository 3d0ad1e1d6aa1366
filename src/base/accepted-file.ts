import { AppError, messageOf } from './errors.ts'
import { readRegularFileSync, replaceFile } from './files.ts'

/**
 * What counts of one of the person's own files (settings, rules, trust): the content that pcc wrote, or that the person agreed to.
 * An empty text also stands for a file that does not exist.
 */
export interface AcceptedFile {
  path: string
  content: string
  /** What pcc is about to write, or has just written. It counts too, so that a crash in between needs no person. */
  next: string | null
}

/** Which content of the person's files is in force. Where there is none of these (a new home, a test), the files count as they are. */
export interface AcceptedContents {
  /** The content in force: what is on disk, or the accepted content if somebody else changed the file. */
  inForce(file: string, onDisk: string): string | Promise<string>
  /** Accepts the content of a file that is used for the first time. */
  begin(file: string, content: string): void
  /** Sentences for the person about files that were changed. */
  notes(): string[]
}

/** A change by pcc. Without `before` the new content does not depend on the old one. */
export interface OwnFileChange {
  path: string
  before?: string | undefined
  after: string
}

/** Records a change before pcc writes it, and again after; throws if `before` is not what counts. */
export type RecordChange = (change: OwnFileChange) => Promise<void>

/** Whether this content counts. */
export function isAccepted({ content, next }: AcceptedFile, found: string): boolean {
  const text = withoutMark(found)
  return text === withoutMark(content) || (next !== null && text === withoutMark(next))
}

/** The record after a change; undefined if the change is based on content that does not count. */
export function applyChange(file: AcceptedFile, { before, after }: OwnFileChange): AcceptedFile | undefined {
  if (before !== undefined && !isAccepted(file, before)) return undefined
  return { path: file.path, content: before ?? file.content, next: after }
}

/** Some editors begin a file with a byte order mark, and some readers leave it out. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/**
 * Replaces one of the person's files. The new content is recorded first: a crash leaves the old file, which counts, or the new
 * one, which counts as well.
 */
export async function replaceOwnFile({ path, before, after }: OwnFileChange, record?: RecordChange): Promise<void> {
  await record?.({ path, before, after })
  replaceFile(path, after)
  await record?.({ path, before: after, after })
}

/** Far more than a person writes into such a file. */
const MAX_BYTES = 1024 * 1024

/** The text of one of the person's files, empty if there is none. Opening a pipe would wait for a writer for ever. */
export function readOwnFile(path: string): string {
  try {
    return readRegularFileSync(path, MAX_BYTES).toString()
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new AppError('config_unreadable', { file: path, problem: messageOf(thrown) }, thrown)
  }
}

/** The sentence about a file that somebody else changed. */
export function describeOutsideChange(path: string): string {
  return `${path} was changed outside pcc; what you accepted before stays in force. See the difference: pcc accept`
}
