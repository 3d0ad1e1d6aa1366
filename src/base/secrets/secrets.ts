import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AppPaths } from '../app-paths.ts'
import { AppError, messageOf } from '../errors.ts'
import { findProgram } from '../process/find-program.ts'
import { problemOf, runShort } from '../process/run-short.ts'
import { MIN_HIDDEN } from '../redact.ts'
import { pathOutsideProjects } from '../search-path.ts'
import type { KeySource } from './cipher.ts'
import { findKeyring, type Keyring } from './keyring.ts'
import {
  changeVault,
  loadKeyFile,
  makeKey,
  openKey,
  readKeyFile,
  readVault,
  SECRET_NAME,
  sealValue,
  unsealValue,
  type VaultContent,
  type VaultEntry,
  vaultFile,
} from './vault.ts'

/** The settings of secrets. */
export interface SecretSettings {
  /** Where new values go. */
  store: 'auto' | 'keyring' | 'file'
  /** What opens a new file of secrets. */
  key: KeySource
  /** A program that prints the value of a secret that is not stored here. */
  command: readonly string[]
}

export interface SecretsOptions {
  paths: Pick<AppPaths, 'home'>
  env: Record<string, string | undefined>
  settings(): Promise<SecretSettings>
  /** Called with every value when it is first read, so that it can be removed from what is written. */
  seen?(value: string): void
  /** Called with the reason why a secret could not be read. */
  failed?(name: string, problem: string): void
  now?(): number
  /** How long the program of `command` may take. */
  commandMs?: number
  platform?: string
}

export type FoundSecret = { value: string; in: VaultEntry['in'] | 'command' } | { problem: string }

export interface StoredSecret {
  name: string
  in: VaultEntry['in']
  /** When it was set. */
  at: number
}

/** How long a value of a keyring or of a command is used before it is asked for again: a rotated one takes effect after this. */
const FRESH_MS = 30_000
/** A manager that hangs must not hold up every decision of a brain. */
const FAILED_MS = 5_000
const COMMAND_MS = 10_000
/** The longest value, and the most that a command may print. */
export const LONGEST_VALUE = 64 * 1024
/** The name of the systemd credential that holds the passphrase or the content of the key file. */
export const CREDENTIAL = 'pcc-secrets'

interface Cached {
  found: FoundSecret
  until: number
  /** The state of the file of secrets when it was read. */
  stamp: string
}

/**
 * The secrets of one installation: values that settings name by `secret:NAME`. A name that was set here is in the keyring or in
 * the encrypted file; any other is asked of the command of the settings. Every read looks whether the file has changed, so that
 * a new value takes effect at once.
 */
export class Secrets {
  readonly #options: SecretsOptions
  readonly #cache = new Map<string, Cached>()
  readonly #reading = new Map<string, Promise<FoundSecret>>()
  readonly #seen = new Set<string>()
  readonly #listeners = new Set<() => void>()
  #passphrase: string | undefined
  /** The key that was derived last, and of which file: deriving it from a passphrase takes a fifth of a second. */
  #key: { check: string; key: Buffer } | undefined

  constructor(options: SecretsOptions) {
    this.#options = options
  }

  /** The value of a secret; undefined if it cannot be read. Never throws. */
  async read(name: string): Promise<string | undefined> {
    const found = await this.lookUp(name)
    return 'value' in found ? found.value : undefined
  }

  /** The value, or why there is none. Never throws. */
  async lookUp(name: string): Promise<FoundSecret> {
    const stamp = this.#stamp()
    const cached = this.#cache.get(name)
    if (cached && cached.stamp === stamp && this.#now() < cached.until) return cached.found
    const reading = this.#reading.get(name) ?? this.#ask(name, stamp)
    this.#reading.set(name, reading)
    try {
      return await reading
    } finally {
      this.#reading.delete(name)
    }
  }

  /** Every value that was read so far, also those that were replaced since. */
  known(): string[] {
    return [...this.#seen]
  }

  /** The names that are stored here, without reading any value. */
  list(): StoredSecret[] {
    const { entries } = readVault(this.#options.paths)
    return Object.entries(entries)
      .map(([name, { in: where, at }]) => ({ name, in: where, at }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Stores a value. Returns where, and why not in the keyring if the settings would have preferred that. */
  async set(name: string, value: string): Promise<{ in: VaultEntry['in']; note?: string }> {
    const problem = SECRET_NAME.test(name) ? problemWith(value) : BAD_NAME
    if (problem !== undefined) throw new AppError('secret_invalid', { name: JSON.stringify(name), problem })
    readVault(this.#options.paths) // A file that cannot be trusted refuses before anything is changed.
    const { store, key } = await this.#options.settings()
    const note = store === 'file' ? undefined : await this.#writeToKeyring(name, value, store)
    const where = store !== 'file' && note === undefined ? 'keyring' : 'file'
    let before: VaultEntry | undefined
    await changeVault(this.#options.paths, async content => {
      before = content.entries[name]
      return where === 'keyring'
        ? { ...content, entries: { ...content.entries, [name]: { in: 'keyring', at: this.#now() } } }
        : this.#withSealed(content, { name, value, from: key })
    })
    // The old value must not stay behind where nobody looks for it.
    if (where === 'file' && before?.in === 'keyring') await this.#keyring()?.remove(name)
    this.forget()
    return { in: where, ...(note !== undefined && { note }) }
  }

  /** Removes a value. Throws if there is none of this name. */
  async remove(name: string): Promise<void> {
    const entry = readVault(this.#options.paths).entries[name]
    if (!entry) throw new AppError('secret_missing', { name: JSON.stringify(name) })
    if (entry.in === 'keyring') {
      const keyring = this.#keyring()
      const failed = keyring ? await keyring.remove(name) : { problem: NO_KEYRING }
      if (failed) throw new AppError('keyring_failed', failed)
    }
    await changeVault(this.#options.paths, async content => {
      const { [name]: _removed, ...entries } = content.entries
      // With the last encrypted value its key goes too, so that the next one can have another passphrase.
      const { key, ...rest } = content
      const isNeeded = Object.values(entries).some(({ in: where }) => where === 'file')
      return { ...rest, ...(key && isNeeded && { key }), entries }
    })
    this.forget()
  }

  /** Keeps a passphrase in memory. Throws if it does not open the file of secrets. */
  async unlock(passphrase: string): Promise<void> {
    const { key } = readVault(this.#options.paths)
    if (key && key.from !== 'passphrase') throw new AppError('secrets_unlocked', {})
    if (key && !(await openKey(key, passphrase))) throw new AppError('secrets_wrong_key', WRONG_PASSPHRASE)
    this.#passphrase = passphrase
    this.forget()
  }

  /** What opens the file of secrets; undefined while nothing is in it. */
  keySource(): KeySource | undefined {
    return readVault(this.#options.paths).key?.from
  }

  /** Forgets what was read, so that the next reader sees a change of the keyring or of the manager at once. */
  forget(): void {
    this.#cache.clear()
    this.#key = undefined
    for (const listener of [...this.#listeners]) listener()
  }

  /** Calls the listener whenever a value may have changed, until the result is disposed. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  async #ask(name: string, stamp: string): Promise<FoundSecret> {
    const read = await this.#find(name).catch((error): FoundSecret => ({ problem: messageOf(error) }))
    const bad = 'value' in read ? problemWith(read.value) : undefined
    const found: FoundSecret = bad === undefined ? read : { problem: `its value cannot be used: ${bad}` }
    if ('value' in found && !this.#seen.has(found.value)) {
      this.#seen.add(found.value)
      this.#options.seen?.(found.value)
    }
    if ('problem' in found) this.#options.failed?.(name, found.problem)
    const keptMs = 'problem' in found ? FAILED_MS : found.in === 'file' ? Number.POSITIVE_INFINITY : FRESH_MS
    this.#cache.set(name, { found, until: this.#now() + keptMs, stamp })
    return found
  }

  async #find(name: string): Promise<FoundSecret> {
    if (!SECRET_NAME.test(name)) return { problem: BAD_NAME }
    const content = readVault(this.#options.paths)
    const entry = content.entries[name]
    if (entry?.in === 'keyring') {
      const read = (await this.#keyring()?.read(name)) ?? { problem: NO_KEYRING }
      return 'value' in read ? { value: read.value, in: 'keyring' } : read
    }
    if (entry) {
      const value = unsealValue(name, entry.value, await this.#openKey(content))
      return value === undefined ? { problem: 'its entry is damaged; set it again' } : { value, in: 'file' }
    }
    const { command } = await this.#options.settings()
    if (command.length === 0) return { problem: `it is not set. Set it with: pcc secrets set ${name}` }
    return this.#runCommand(command, name)
  }

  /** Without a shell, so that nothing in a name is interpreted. */
  async #runCommand(command: readonly string[], name: string): Promise<FoundSecret> {
    const { env, commandMs: timeoutMs = COMMAND_MS } = this.#options
    const named = command.map(word => word.replaceAll('{name}', name))
    const [program = '', ...args] = command.some(word => word.includes('{name}')) ? named : [...named, name]
    const PATH = pathOutsideProjects(env['PATH'])
    const found = findProgram(program, { PATH }, '/')
    if (found === undefined) return { problem: `the program ${program} (secrets.command) was not found` }
    const own = Object.fromEntries(Object.entries(env).filter(([variable]) => !variable.startsWith('PCC_')))
    const limits = { timeoutMs, maxBytes: LONGEST_VALUE }
    const result = await runShort({ command: found, args, cwd: '/', env: { ...own, PATH }, ...limits })
    const problem = problemOf(result)
    // What it prints to its standard error may quote the secret, so it is not repeated.
    if (problem !== undefined) return { problem: `${program} (secrets.command): ${problem}` }
    return { value: result.stdout.replace(/\r?\n$/, ''), in: 'command' }
  }

  async #writeToKeyring(name: string, value: string, store: SecretSettings['store']): Promise<string | undefined> {
    const keyring = this.#keyring()
    const failed = keyring ? await keyring.write(name, value) : { problem: NO_KEYRING }
    if (failed && store === 'keyring') throw new AppError('keyring_failed', failed)
    return failed?.problem
  }

  async #withSealed(
    content: VaultContent,
    { name, value, from }: { name: string; value: string; from: KeySource },
  ): Promise<VaultContent> {
    const key = content.key ?? (await this.#makeKey(from))
    const opened = await this.#openKey({ ...content, key })
    const entry: VaultEntry = { in: 'file', at: this.#now(), value: sealValue(name, value, opened) }
    return { ...content, key, entries: { ...content.entries, [name]: entry } }
  }

  async #makeKey(from: KeySource): Promise<NonNullable<VaultContent['key']>> {
    if (from === 'file') return makeKey(from, loadKeyFile(this.#options.paths))
    const material = this.#passphrase ?? this.#credential()
    if (material === undefined) throw new AppError('secrets_locked', {})
    return makeKey(from, material)
  }

  async #openKey({ key }: VaultContent): Promise<Buffer> {
    if (!key) throw new AppError('secrets_unreadable', { file: vaultFile(this.#options.paths), problem: NO_KEY })
    if (this.#key?.check === key.check.data) return this.#key.key
    const own = key.from === 'file' ? readKeyFile(this.#options.paths) : this.#passphrase
    const materials = [own, this.#credential()].filter(each => each !== undefined)
    for (const material of materials) {
      const opened = await openKey(key, material)
      if (!opened) continue
      this.#key = { check: key.check.data, key: opened }
      return opened
    }
    if (materials.length > 0)
      throw new AppError('secrets_wrong_key', key.from === 'file' ? WRONG_KEY_FILE : WRONG_PASSPHRASE)
    if (key.from === 'passphrase') throw new AppError('secrets_locked', {})
    throw new AppError('secrets_unreadable', { file: vaultFile(this.#options.paths), problem: KEY_FILE_GONE })
  }

  /** systemd puts it where only the service can read it; its mode may show an access list. */
  #credential(): string | undefined {
    const folder = this.#options.env['CREDENTIALS_DIRECTORY']
    if (!folder?.startsWith('/')) return undefined
    try {
      return readFileSync(join(folder, CREDENTIAL), 'utf8').trim() || undefined
    } catch {
      return undefined // the unit names no such credential
    }
  }

  #keyring(): Keyring | undefined {
    const { env, paths, platform } = this.#options
    return findKeyring({ env, home: paths.home, ...(platform !== undefined && { platform }) })
  }

  #stamp(): string {
    const stats = statSync(vaultFile(this.#options.paths), { bigint: true, throwIfNoEntry: false })
    return stats ? `${stats.ino}:${stats.mtimeNs}:${stats.size}` : ''
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now()
  }
}

const BAD_NAME =
  'a name has letters, digits, dots, dashes and underlines, begins with a letter or digit, and has at most 64'
const NO_KEYRING = 'no keyring was found: neither secret-tool nor security is on the PATH'
const NO_KEY = 'it is damaged: it names no key'
const KEY_FILE_GONE = 'its key file is gone. Put it back, or move the file of secrets away and set them again'
const WRONG_PASSPHRASE = { problem: 'The passphrase does not open the file of secrets.' }
const WRONG_KEY_FILE = { problem: 'The key file does not open the file of secrets: one of the two is from elsewhere.' }

/** Why a value cannot be used; undefined if it can. */
export function problemWith(value: string): string | undefined {
  if (value.length < MIN_HIDDEN) return `it is shorter than ${MIN_HIDDEN} characters, and could not be kept out of logs`
  if (Buffer.byteLength(value) > LONGEST_VALUE) return `it is longer than ${LONGEST_VALUE} bytes`
  if (value.includes('\0')) return 'it holds a zero byte'
  if (/^(env|secret):/.test(value)) return 'it begins like a reference (env: or secret:)'
  return undefined
}
