/** Keys whose values never belong in a log, at any depth. */
const SECRET_KEY = /^(env|headers|authorization|token|api_?key|secret|password|credential|cookie)$/i

/** Shapes of secrets that may sit inside a text: vendor keys, bearer headers, `NAME_TOKEN=value` pairs. */
const SECRET_SHAPES: [RegExp, string][] = [
  [/\bsk-[A-Za-z0-9_-]{8,}/g, 'sk-[hidden]'],
  [/\b(gh[pousr]_|github_pat_|xox[abprs]-|AIza|AKIA)[A-Za-z0-9_-]{8,}/g, '$1[hidden]'],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [hidden]'],
  // Bounded: an agent chooses the text, and without an end 80 KB of it took five seconds.
  [/\b([A-Z0-9_]{0,80}(?:TOKEN|SECRET|PASSWORD|API_?KEY|AUTH)[A-Z0-9_]{0,80})=[^\s"'\\]+/g, '$1=[hidden]'],
]

/** A copy of `value` that may be written to a log: secret keys are emptied, and so is every text that looks like a secret. */
export function redact(value: unknown, hidden: Iterable<string> = []): unknown {
  return walk(value, [...hidden], 0)
}

/** `text` without what looks like a secret and without each of the `hidden` values. */
export function redactText(text: string, hidden: Iterable<string> = []): string {
  let clean = text
  for (const value of hidden) if (value.length >= MIN_HIDDEN) clean = clean.replaceAll(value, '[hidden]')
  for (const [shape, instead] of SECRET_SHAPES) clean = clean.replace(shape, instead)
  return clean
}

/** A copy of `value` in which each of the `hidden` values is taken out of every text, and nothing else. */
export function redactValues<T>(value: T, hidden: Iterable<string>): T {
  const long = [...hidden].filter(each => each.length >= MIN_HIDDEN)
  return long.length === 0 ? value : (withoutValues(value, long) as T)
}

function withoutValues(value: unknown, hidden: string[]): unknown {
  if (typeof value === 'string') return hidden.reduce((text, secret) => text.replaceAll(secret, '[hidden]'), value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => withoutValues(item, hidden))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutValues(item, hidden)]))
}

/** Shorter values ("1", "true") would blacken half of the log and are no secrets. */
const MIN_HIDDEN = 8

/** Logged objects are shallow; whatever is deeper was not meant for a log. */
const MAX_DEPTH = 6

function walk(value: unknown, hidden: string[], depth: number): unknown {
  if (typeof value === 'string') return redactText(value, hidden)
  if (value instanceof Error) return walk(errorFields(value), hidden, depth)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '[deep]'
  if (Array.isArray(value)) return value.map(item => walk(item, hidden, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      redactText(key, hidden),
      SECRET_KEY.test(key) ? '[hidden]' : walk(item, hidden, depth + 1),
    ]),
  )
}

function errorFields(error: Error): Record<string, unknown> {
  return {
    name: error.name,
    message: error.message,
    ...('code' in error ? { code: error.code } : {}),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  }
}
