/** Keys whose values never belong in a log, at any depth. */
const SECRET_KEY = /^(env|headers|authorization|token|api_?key|secret|password|credential|cookie)$/i

/**
 * Secrets that are known by their shape alone, and are removed from everything that is stored. A person decides by what is stored, so a pattern may match
 * only letters, digits, dots and dashes, and the lines of a key: never a text that a shell would run, which nobody would then see.
 */
const TOKEN_SHAPES: Shape[] = [
  [tokenPattern('(sk-)(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{16,}'), '$1[hidden]', ['sk-']],
  [tokenPattern('(sk-)[A-Za-z0-9]{32,}'), '$1[hidden]', ['sk-']],
  [tokenPattern('([sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{8,}'), '$1[hidden]', ['k_live_', 'k_test_', 'whsec_']],
  [
    tokenPattern('(gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{16,}'),
    '$1[hidden]',
    ['gh', 'github_pat_', 'glpat-', 'xox'],
  ],
  [tokenPattern('(npm_|hf_|tk_)[A-Za-z0-9]{29,}'), '$1[hidden]', ['npm_', 'hf_', 'tk_']],
  [
    tokenPattern('(pypi-|dop_v1_|AGE-SECRET-KEY-1)[A-Za-z0-9_-]{40,}'),
    '$1[hidden]',
    ['pypi-', 'dop_v1_', 'AGE-SECRET-KEY-1'],
  ],
  [tokenPattern('(SG\\.)[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}'), '$1[hidden]', ['SG.']],
  [tokenPattern('(hooks\\.slack\\.com/services/\\w+/\\w+/)[A-Za-z0-9]{16,}'), '$1[hidden]', ['hooks.slack.com']],
  [tokenPattern('(AIza|AKIA)[A-Za-z0-9_-]{16,}'), '$1[hidden]', ['AIza', 'AKIA']],
  [tokenPattern('\\d{8,10}:AA[A-Za-z0-9_-]{32,64}'), '[hidden token]', [':AA']],
  [pemPattern(), '$1[hidden key]$2', ['-----BEGIN ']],
]

/**
 * A pattern, what replaces it, and words of which every text that it matches has one. Looking for a word takes a fraction of the
 * time, and nearly no text has one; every log line and every event is searched.
 */
type Shape = [pattern: RegExp, replacement: string, words: readonly string[]]

function replaceShapes(text: string, shapes: readonly Shape[]): string {
  let clean = text
  for (const [pattern, replacement, words] of shapes)
    if (words.some(word => clean.includes(word))) clean = clean.replace(pattern, replacement)
  return clean
}

/** A token begins where a word begins; the letter before it may be the end of a colour. */
function tokenPattern(shape: string): RegExp {
  return new RegExp(`(?<!\\w(?<!\\x1b\\[[0-9;]{0,20}m))${shape}`, 'g')
}

/** A private key: its first line, lines of base64, and its last line if it is there. Lines may be numbered, prefixed or escaped. */
function pemPattern(): RegExp {
  const next = '(?:\\\\[rn]|\\s){1,9}(?:\\d{1,6}[→:\\t])?[ \\t+>|-]{0,4}'
  const name = '[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?'
  const header = 'Proc-Type: 4,ENCRYPTED|DEK-Info: [A-Z0-9-]{1,30},[0-9A-F]{1,64}'
  const line = '[A-Za-z0-9+/]{40,}={0,2}'
  const last = '[A-Za-z0-9+/]{1,76}={0,2}(?![\\w/.])'
  const body = `(?:${next}(?:${header}|${line}))+(?:${next}${last}(?=${next}-----END))?`
  return new RegExp(`(-----BEGIN ${name}-----)${body}((?:${next}-----END ${name}-----)?)`, 'g')
}

/** Patterns of secrets that may occur inside a text: vendor keys, bearer headers, `NAME_TOKEN=value` pairs. */
const SECRET_SHAPES: Shape[] = [
  ...TOKEN_SHAPES,
  [/\bsk-[A-Za-z0-9_-]{8,}/g, 'sk-[hidden]', ['sk-']],
  [
    /\b(gh[pousr]_|github_pat_|xox[abprs]-|AIza|AKIA)[A-Za-z0-9_-]{8,}/g,
    '$1[hidden]',
    ['gh', 'github_pat_', 'xox', 'AIza', 'AKIA'],
  ],
  // In small and capital letters alike, so there is no one word to look for.
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [hidden]', ['']],
  // Bounded, because an agent chooses the text: without the limit, 80 KB of it took five seconds.
  [/\b([A-Z0-9_]{0,80}(?:TOKEN|SECRET|PASSWORD|API_?KEY|AUTH)[A-Z0-9_]{0,80})=[^\s"'\\]+/g, '$1=[hidden]', ['=']],
]

/** Whether a text contains what is a secret by its shape alone. */
export function holdsToken(text: string): boolean {
  return TOKEN_SHAPES.some(([shape]) => text.search(shape) >= 0)
}

/** A copy of `value` that may be logged: the values of secret keys and every text that looks like a secret are hidden. */
export function redact(value: unknown, hidden: Iterable<string> = []): unknown {
  return walk(value, [...hidden], 0)
}

/** `text` without the `hidden` values and without anything that looks like a secret. */
export function redactText(text: string, hidden: Iterable<string> = []): string {
  let clean = text
  for (const value of hidden) if (value.length >= MIN_HIDDEN) clean = clean.replaceAll(value, '[hidden]')
  return replaceShapes(clean, SECRET_SHAPES)
}

/** A copy of `value` for the store: the `hidden` values and what is a token by its shape are removed from every text, and nothing else. */
export function redactValues<T>(value: T, hidden: Iterable<string>): T {
  // The longest first: one secret may be the beginning of another.
  const secrets = [...new Set(hidden)].filter(secret => secret.length >= MIN_HIDDEN)
  return removeValues(
    value,
    secrets.sort((a, b) => b.length - a.length),
  ) as T
}

function removeValues(value: unknown, hidden: string[]): unknown {
  if (typeof value === 'string') {
    const rest = hidden.reduce((text, secret) => text.replaceAll(secret, '[hidden]'), value)
    return replaceShapes(rest, TOKEN_SHAPES)
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => removeValues(item, hidden))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, removeValues(item, hidden)]))
}

/** Shorter values ("1", "true") are not secrets, and hiding them would blacken half of the log. */
export const MIN_HIDDEN = 8

/** Logged objects are shallow; deeper values were not meant for a log. */
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
