import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { secretId, shortId } from '../../base/ids.ts'
import type { ApiKey, ApiKeyView, CreateApiKey, NewApiKey } from '../../domain/access.ts'
import type { Store } from '../../store/store.ts'

export interface ApiKeysDeps {
  store: Pick<Store, 'apiKeys'>
  clock: Clock
  /** Called when the time of a last use could not be stored. */
  failed(error: unknown): void
}

/** How long the time of a last use may be only in memory: a write for every request would cost more than the request. */
const FLUSH_AFTER_MS = 60_000

/**
 * The keys of other programs. They are read once and kept in memory, because every request needs one; only this daemon changes them.
 */
export class ApiKeys implements AsyncDisposable {
  readonly #deps: ApiKeysDeps
  #loaded: Promise<Map<string, ApiKey>> | undefined
  #keys: ReadonlyMap<string, ApiKey> | undefined
  readonly #used = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: ApiKeysDeps) {
    this.#deps = deps
  }

  /** The key that a text is, if it is one that is valid now. The comparison takes the same time for every wrong text. */
  verify(text: string): ApiKey | Promise<ApiKey> {
    // Once they are loaded, nothing is awaited: this is part of every request.
    return this.#keys ? this.#verifyIn(this.#keys, text) : this.#load().then(keys => this.#verifyIn(keys, text))
  }

  #verifyIn(keys: ReadonlyMap<string, ApiKey>, text: string): ApiKey {
    const id = KEY.exec(text)?.[1]
    const key = id === undefined ? undefined : keys.get(`k-${id}`)
    const matches = timingSafeEqual(digest(text), key ? Buffer.from(key.hash, 'hex') : NO_KEY)
    if (!key || !matches) throw new AppError('key_unknown', {})
    this.checkAgain(key)
    return key
  }

  /** Throws if a key that was verified before is not valid any more, whatever its secret. Its use is noted. */
  checkAgain(key: ApiKey): void {
    const now = this.#deps.clock.now()
    const { name } = key
    if (key.revoked_at !== null) throw new AppError('key_revoked', { name })
    if (key.expires_at !== null && key.expires_at <= now) throw new AppError('key_expired', { name })
    this.#noteUse(key, now)
  }

  async create({ name, scope, project, system, expires_at }: CreateApiKey): Promise<NewApiKey> {
    const keys = await this.#load()
    const id = findFreeId(keys)
    const secret = makeSecret(id)
    const key: ApiKey = {
      id,
      name: name ?? id,
      hash: digest(secret).toString('hex'),
      scope,
      project: project ?? null,
      system: system ?? null,
      created_at: this.#deps.clock.now(),
      expires_at: expires_at ?? null,
      revoked_at: null,
      last_used_at: null,
    }
    if (!(await this.#deps.store.apiKeys.insert(key))) throw new AppError('key_name_taken', { name: key.name })
    keys.set(id, key)
    return { key: this.#view(key), secret }
  }

  async list(): Promise<ApiKeyView[]> {
    return [...(await this.#load()).values()].map(key => this.#view(key))
  }

  async revoke(ref: string): Promise<ApiKeyView> {
    const key = await this.#find(ref)
    if (key.revoked_at === null) await this.#change(key, { revoked_at: this.#deps.clock.now() })
    return this.#view(key)
  }

  /** Gives a key a new secret; the old one is worth nothing from now on. */
  async rotate(ref: string, expires_at: number | null | undefined): Promise<NewApiKey> {
    const key = await this.#find(ref)
    if (key.revoked_at !== null) throw new AppError('key_revoked', { name: key.name })
    const secret = makeSecret(key.id)
    await this.#change(key, {
      hash: digest(secret).toString('hex'),
      created_at: this.#deps.clock.now(),
      ...(expires_at !== undefined && { expires_at }),
    })
    return { key: this.#view(key), secret }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await this.#flush()
  }

  #load(): Promise<Map<string, ApiKey>> {
    this.#loaded ??= this.#deps.store.apiKeys.list().then(
      keys => {
        const known = new Map(keys.map(key => [key.id, key]))
        this.#keys = known
        return known
      },
      error => {
        this.#loaded = undefined // the next request tries again
        throw error
      },
    )
    return this.#loaded
  }

  async #find(ref: string): Promise<ApiKey> {
    const found = [...(await this.#load()).values()].find(({ id, name }) => id === ref || name === ref)
    if (!found) throw new AppError('key_not_found', { ref })
    return found
  }

  /** The copy in memory changes only after the store has. */
  async #change(key: ApiKey, patch: Parameters<Store['apiKeys']['update']>[1]): Promise<void> {
    await this.#deps.store.apiKeys.update(key.id, patch)
    Object.assign(key, patch)
  }

  #noteUse(key: ApiKey, now: number): void {
    key.last_used_at = now
    this.#used.add(key.id)
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_AFTER_MS).unref()
  }

  async #flush(): Promise<void> {
    this.#timer = undefined
    const keys = await this.#load()
    for (const id of this.#used) {
      this.#used.delete(id)
      const last_used_at = keys.get(id)?.last_used_at ?? null
      await this.#deps.store.apiKeys.update(id, { last_used_at }).catch(error => this.#deps.failed(error))
    }
  }

  #view({ hash: _, ...key }: ApiKey): ApiKeyView {
    const isOver = key.expires_at !== null && key.expires_at <= this.#deps.clock.now()
    return { ...key, state: key.revoked_at !== null ? 'revoked' : isOver ? 'expired' : 'valid' }
  }
}

/** The id of the key is in it, so that one row is compared and not all of them. */
const KEY = /^pcc_([0-9a-f]{6})_[A-Za-z0-9_-]{43}$/

function makeSecret(id: string): string {
  return `pcc_${id.slice('k-'.length)}_${secretId()}`
}

function findFreeId(keys: ReadonlyMap<string, ApiKey>): string {
  for (;;) {
    const id = shortId('k')
    if (!keys.has(id)) return id
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** The hash of no text. */
const NO_KEY = Buffer.alloc(32)
