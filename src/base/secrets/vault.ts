import { closeSync, constants, fstatSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import type { AppPaths } from '../app-paths.ts'
import { AppError, messageOf } from '../errors.ts'
import { replaceEntry, whileLocked } from '../files.ts'
import { secretId } from '../ids.ts'
import { quoteForShell } from '../words.ts'
import { deriveKey, type KeySource, makeSalt, type Sealed, seal, unseal } from './cipher.ts'

/**
 * The file of secrets, `secrets/secrets.json` in the home. Names and times are readable; each value is encrypted by itself, or is
 * in the keyring of the system. `key` says what opens the values: the key file beside it, or a passphrase that is in no file.
 * A file that cannot be read, is damaged, is a link or is open to others is never written again.
 */
const VERSION = 1

/** What a secret may be called. It is an argument of other programs, so it never begins with a dash. */
export const SECRET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const Base64 = z.base64()
const SealedValue = z.strictObject({ nonce: Base64, data: Base64 })
const Entry = z.discriminatedUnion('in', [
  z.strictObject({ in: z.literal('file'), at: z.number(), value: SealedValue }),
  z.strictObject({ in: z.literal('keyring'), at: z.number() }),
])
const Key = z.strictObject({ from: z.enum(['file', 'passphrase']), salt: Base64, check: SealedValue })
const VaultFile = z.strictObject({
  pcc_secrets: z.literal(VERSION),
  key: Key.optional(),
  entries: z.record(z.string().regex(SECRET_NAME), Entry),
})

export type VaultContent = z.infer<typeof VaultFile>
export type VaultEntry = z.infer<typeof Entry>

type Paths = Pick<AppPaths, 'home'>

/** The folder of secrets. It is in the home, which every sandbox hides. */
export function secretsFolder({ home }: Paths): string {
  return join(home, 'secrets')
}

export function vaultFile(paths: Paths): string {
  return join(secretsFolder(paths), 'secrets.json')
}

export function keyFile(paths: Paths): string {
  return join(secretsFolder(paths), 'key')
}

/** Far more than a person has keys for. */
const MAX_BYTES = 16 * 1024 * 1024

/** Reads the file; an absent one is empty. Throws `secrets_unreadable` for one that cannot be trusted to be ours and whole. */
export function readVault(paths: Paths): VaultContent {
  const file = vaultFile(paths)
  const text = readPrivateFile(file)
  if (text === undefined) return { pcc_secrets: VERSION, entries: {} }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw unreadable(file, 'it is damaged: it is no JSON')
  }
  const version = (parsed as { pcc_secrets?: unknown } | null)?.pcc_secrets
  if (typeof version === 'number' && version > VERSION)
    throw new AppError('secrets_newer', { file, found: version, known: VERSION })
  const read = VaultFile.safeParse(parsed)
  if (!read.success) throw unreadable(file, `it is damaged: ${read.error.issues[0]?.path.join('.') || 'its form'}`)
  return read.data
}

/** Changes the file while no other process does. A process that is killed meanwhile leaves the old file or the new one. */
export async function changeVault(
  paths: Paths,
  change: (content: VaultContent) => Promise<VaultContent>,
): Promise<void> {
  const folder = secretsFolder(paths)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  await whileLocked(join(folder, 'lock'), async () => {
    const changed = await change(readVault(paths))
    removeLeftovers(folder)
    replaceEntry(vaultFile(paths), `${JSON.stringify(changed, null, 2)}\n`)
  })
}

/** What a writer that was killed left behind: encrypted, or a key that nothing was encrypted with. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (/^\.(secrets\.json|key)\..+\.tmp$/.test(name)) rmSync(join(folder, name), { force: true })
  }
}

/** The purpose of the text that tells a right key from a wrong one. */
const CHECK = 'pcc secrets 1: check'

function purposeOf(name: string): string {
  return `pcc secrets 1: value of ${name}`
}

/** A new key for an empty file. */
export async function makeKey(from: KeySource, material: string): Promise<NonNullable<VaultContent['key']>> {
  const salt = makeSalt()
  return { from, salt, check: seal(CHECK, await deriveKey(from, material, salt), CHECK) }
}

/** The key of the file; undefined if this material is not the right one. */
export async function openKey(
  { from, salt, check }: NonNullable<VaultContent['key']>,
  material: string,
): Promise<Buffer | undefined> {
  const key = await deriveKey(from, material, salt)
  return unseal(check, key, CHECK) === CHECK ? key : undefined
}

export function sealValue(name: string, value: string, key: Buffer): Sealed {
  return seal(value, key, purposeOf(name))
}

export function unsealValue(name: string, value: Sealed, key: Buffer): string | undefined {
  return unseal(value, key, purposeOf(name))
}

/** The content of the key file; undefined if there is none. */
export function readKeyFile(paths: Paths): string | undefined {
  const text = readPrivateFile(keyFile(paths))?.trim()
  if (text === undefined) return undefined
  if (text.length < 32) throw unreadable(keyFile(paths), 'it is damaged: it is too short for a key')
  return text
}

/** Makes the key file if there is none yet. The caller holds the lock of the vault. */
export function loadKeyFile(paths: Paths): string {
  const existing = readKeyFile(paths)
  if (existing !== undefined) return existing
  const made = secretId()
  replaceEntry(keyFile(paths), `${made}\n`)
  return made
}

/** The text of a file of ours that only we can read; undefined if there is none. A link, a pipe or an open file is refused. */
function readPrivateFile(file: string): string | undefined {
  let handle: number
  try {
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw unreadable(file, code === 'ELOOP' ? 'it is a link' : messageOf(thrown), thrown)
  }
  try {
    const stats = fstatSync(handle)
    if (!stats.isFile()) throw unreadable(file, 'it is no ordinary file')
    if (stats.uid !== process.getuid?.()) throw unreadable(file, 'it belongs to somebody else')
    if ((stats.mode & 0o077) !== 0)
      throw unreadable(file, `others can read it: if nobody has, close it with chmod 600 ${quoteForShell(file)}`)
    if (stats.size > MAX_BYTES) throw unreadable(file, `it is larger than ${MAX_BYTES} bytes`)
    return readFileSync(handle, 'utf8')
  } finally {
    closeSync(handle)
  }
}

function unreadable(file: string, problem: string, cause?: unknown): AppError {
  return new AppError('secrets_unreadable', { file, problem }, cause)
}
