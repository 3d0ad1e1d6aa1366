import type { AppPaths } from '../../base/app-paths.ts'
import type { Secrets } from '../../base/secrets/secrets.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { explainUnreadByDaemon, readSecret, secretName } from '../../domain/config/secret-references.ts'
import type { Config } from '../../domain/config/settings.ts'
import { WEBHOOK_SOURCES, type WebhookSource } from '../../domain/option-values.ts'
import type { WebhookDelivery, WebhookSetup } from '../../domain/webhook.ts'
import type { SendResult } from '../../human/notify/notice.ts'
import type { SignatureKind } from './signature.ts'

/** How long settings are reused: changes are seen soon, and a flood does not read them again for each message. */
const FRESH_MS = 2_000

/** The secret of a webhook, or why it cannot be read. */
export type WebhookSecret = { secret: string; problem: null } | { secret: undefined; problem: string }

/** A webhook that messages come in by. */
export interface WebhookDoor {
  name: string
  kind: SignatureKind
  /** Each is read by itself: a secret manager that hangs holds up only those whose secrets it has. Never throws. */
  readSecret(): Promise<WebhookSecret>
}

/** An address to which events are sent. */
export interface WebhookTarget {
  name: string
  url: string
  events: string
  allowsPrivate: boolean
  readSecret(): Promise<WebhookSecret>
}

export interface ReadWebhooks {
  settings: Config['webhooks']
  queueSize: number
  doors: WebhookDoor[]
  targets: WebhookTarget[]
}

/** Messages from and to other programs (docs/webhooks.md). */
export interface Webhooks {
  read(): Promise<ReadWebhooks>
  /** A message was stored. */
  received(): void
  /** Works on what an earlier daemon left, and tells listed addresses of events until the daemon stops. Never throws. */
  run(since: number): Promise<void>
  /** Works on nothing more, and waits for what is under way. */
  close(): Promise<void>
  setups(): Promise<WebhookSetup[]>
  /** Works once more on a message that failed or was refused. */
  retry(id: number): Promise<WebhookDelivery>
  /** Sends a test event to a listed address. */
  test(name: string): Promise<SendResult>
  /** Does what somebody orders in a chat, and returns the reply. `id` is the same if it comes twice. */
  order(text: string, by: { name: string; id: number }): Promise<string>
}

/** The events that an address gets if its settings name none. */
const STANDARD_EVENTS = 'task.*, run.*'

const SIGNATURES: Record<WebhookSource, SignatureKind> = {
  github: { by: 'github' },
  prometheus: { by: 'bearer' },
  telegram: { by: 'telegram' },
}

/** Reads the settings of webhooks, at most some seconds old. */
export function openWebhookSettings(
  { paths, secrets }: { paths: AppPaths; secrets: Pick<Secrets, 'read'> },
  env: Record<string, string | undefined>,
): () => Promise<ReadWebhooks> {
  let cached: { at: number; read: Promise<ReadWebhooks> } | undefined
  return () => {
    if (cached && Date.now() - cached.at < FRESH_MS) return cached.read
    const read = readWebhooks()
    cached = { at: Date.now(), read }
    read.catch(() => {
      cached = undefined
    })
    return read
  }

  async function readWebhooks(): Promise<ReadWebhooks> {
    const { config } = await loadConfig({ paths, env })
    const { webhooks: settings } = config
    const fixed = WEBHOOK_SOURCES.map(name => ({ name, kind: SIGNATURES[name], setting: settings[name].secret }))
    const own = Object.entries(settings.in).map(([name, { secret, header }]) => {
      const kind: SignatureKind = header === undefined ? { by: 'pcc' } : { by: 'header', header }
      return { name, kind, setting: secret }
    })
    const doors = [...fixed, ...own].flatMap(({ name, kind, setting }) =>
      setting === undefined ? [] : [{ name, kind, readSecret: readOnce(setting) }],
    )
    const targets = Object.entries(settings.out).map(([name, { url, secret, events, private: allows }]) => ({
      ...{ name, url, events: events ?? STANDARD_EVENTS, allowsPrivate: allows === 'yes' },
      readSecret: readOnce(secret),
    }))
    return { settings, queueSize: config.tasks.queue_size, doors, targets }
  }

  function readOnce(setting: string): () => Promise<WebhookSecret> {
    let found: Promise<WebhookSecret> | undefined
    return () => {
      found ??= readReference(setting)
      return found
    }
  }

  async function readReference(setting: string): Promise<WebhookSecret> {
    const name = secretName(setting)
    const secret = name === undefined ? readSecret(setting, env) : await secrets.read(name)
    if (secret === undefined) return { secret, problem: `it takes ${explainUnreadByDaemon(setting)}` }
    if (secret.length < SHORTEST)
      return { secret: undefined, problem: `its secret is shorter than ${SHORTEST} characters` }
    return { secret, problem: null }
  }
}

/** A shorter secret could be guessed from one signed message. */
const SHORTEST = 16
