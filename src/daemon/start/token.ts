import { createHash, timingSafeEqual } from 'node:crypto'
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { secretId } from '../../base/ids.ts'

/** The bearer token of this installation: made once, kept in a file that only its owner can read. */
export function tokenIn(file: string): string {
  return readToken(file) ?? writeToken(file)
}

/** Compares without telling by its duration how much of the token was right. */
export function tokenMatches(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token))
}

/** A token that others could read, or that is not a plain file of ours, is not used again: there will be a new one. */
function readToken(file: string): string | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (!found?.isFile() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) return undefined
  const token = readFileSync(file, 'utf8').trim()
  return token.length >= 32 ? token : undefined
}

/** Written aside and renamed, so that a crash leaves no half token. The caller holds the daemon's lock. */
function writeToken(file: string): string {
  const token = secretId()
  const aside = `${file}.new`
  rmSync(aside, { force: true })
  writeFileSync(aside, `${token}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(aside, file)
  return token
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
