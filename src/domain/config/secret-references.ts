import { type Config, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

type Env = Record<string, string | undefined>

/** Reads secrets by name. Never throws. */
export interface SecretReader {
  /** Undefined if it cannot be read. */
  read(name: string): Promise<string | undefined>
}

export interface SecretSource extends SecretReader {
  /** The value, or why there is none. */
  lookUp(name: string): Promise<{ value: string } | { problem: string }>
  /** Every value that was read so far, to be removed from what is written. */
  known(): string[]
}

/** Settings that may be written as `env:NAME` or `secret:NAME`. */
const REFERRING: readonly SettingKey[] = SETTING_KEYS.filter(key => {
  const { secret, mayRefer } = settingOf(key)
  return secret || mayRefer
})

/** Settings that are sections by name, each with a secret. */
const SECTIONS = ['webhooks.in', 'webhooks.out'] as const satisfies readonly SettingKey[]

/** The secret that a setting names with `secret:NAME`; undefined if it names none. */
export function secretName(setting: unknown): string | undefined {
  return typeof setting === 'string' && setting.startsWith('secret:') ? setting.slice('secret:'.length) : undefined
}

/** Whether a setting only says where its value is. */
export function isReference(setting: unknown): boolean {
  return typeof setting === 'string' && /^(env|secret):/.test(setting)
}

/**
 * The value of a setting: that of the variable for `env:NAME`, else the text itself. Undefined for a `secret:NAME`, because
 * `fillSecrets` has replaced every one that could be read.
 */
export function readSecret(setting: string | undefined, env: Env): string | undefined {
  if (setting === undefined || secretName(setting) !== undefined) return undefined
  return setting.startsWith('env:') ? env[setting.slice('env:'.length)] || undefined : setting
}

/** The values of all secret settings, as far as they can be read. None of them may be shown. */
export function secretValues(config: Partial<Config>, env: Env): string[] {
  const keys = SETTING_KEYS.filter(key => settingOf(key).secret)
  return keys.flatMap(key => readSecret(valueAt(config, key) as string | undefined, env) ?? [])
}

/** Explains to a person why `readSecret` could not follow a reference. */
export function explainUnread(setting: string): string {
  const name = secretName(setting)
  if (name !== undefined) return `the secret ${name}, which cannot be read now. See why: pcc secrets list --check`
  return `${setting.slice('env:'.length)}, which is not set here. Set it, then: pcc daemon restart`
}

/** The same of a setting that only the daemon reads: variables of a shell do not reach it. */
export function explainUnreadByDaemon(setting: string): string {
  const [, name] = /^env:(?!PCC_)(.+)$/.exec(setting) ?? []
  if (name === undefined) return explainUnread(setting)
  return `${name}, which is not set here: a command that starts the daemon hands on only variables that begin with PCC_. Store it instead, and write secret:NAME: pcc secrets set NAME`
}

/** The secrets that settings name, each with the settings that do. */
export function namedSecrets(config: object): Map<string, string[]> {
  const names = new Map<string, string[]>()
  const inSections = SECTIONS.flatMap(key =>
    Object.keys(valueAt(config, key) ?? {}).map(name => `${key}.${name}.secret`),
  )
  for (const key of [...REFERRING, ...inSections]) {
    const name = secretName(valueAt(config, key))
    if (name !== undefined) names.set(name, [...(names.get(name) ?? []), key])
  }
  return names
}

/** A copy of the settings in which every `secret:NAME` that can be read is replaced by its value. It must never be stored or shown. */
export async function fillSecrets<C extends object>(config: C, secrets: SecretReader): Promise<C> {
  let filled: object = config
  for (const [name, keys] of namedSecrets(config)) {
    const value = await secrets.read(name)
    if (value !== undefined) for (const key of keys) filled = withValue(filled, key.split('.'), value)
  }
  return filled as C
}

function valueAt(config: object, key: string): unknown {
  return key.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], config)
}

function withValue(section: object, [part = '', ...rest]: string[], value: string): object {
  const inner = (section as Record<string, unknown>)[part]
  return { ...section, [part]: rest.length === 0 ? value : withValue(inner as object, rest, value) }
}
