import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readRegularFileNow } from './files.ts'
import { isObject, parseJson } from './json.ts'

const ENV_FILE = /^(\.env(\..+)?|.+\.env|\.envrc|\.dev\.vars)$/
/** These files hold no secrets, but texts to be replaced. */
const SAMPLE = /\.(example|sample|template|tmpl|dist|defaults?)(\.|$)/i

const MOST_FILES = 20
const MOST_BYTES = 256_000

/** The secrets in the `.env` files of a folder. Files that cannot be read have none. */
export function readEnvSecrets(folder: string): string[] {
  const names = listNames(folder).filter(name => ENV_FILE.test(name) && !SAMPLE.test(name))
  return [...new Set(names.slice(0, MOST_FILES).flatMap(name => findSecrets(readText(join(folder, name)))))]
}

/** Where an agent keeps the settings of a person: its folder, and its file about projects, which is beside or in it. */
export interface AgentSettings {
  folder: string
  file: string
}

/** The keys that a person has given an agent's MCP servers, for all projects and for this one, and its environment. */
export function readServerSecrets({ folder, file }: AgentSettings, project: string): string[] {
  const parse = (path: string) => {
    const value = parseJson(readRegularFileNow(path)?.toString('utf8') ?? '')
    return isObject(value) ? value : {}
  }
  const { mcpServers, projects } = parse(file)
  const own = isObject(projects) ? projects[project] : undefined
  const { env } = parse(join(folder, 'settings.json'))
  return [...new Set(namedSecrets([mcpServers, isObject(own) && own['mcpServers'], env], ''))]
}

/** A word counts by the name before it: `{ "X-Api-Key": … }`, `"--token", …`, `?key=…`. */
function namedSecrets(value: unknown, name: string): string[] {
  const flagAt = (at: number, all: unknown[]) => (/^-/.test(String(all[at])) ? String(all[at]) : '')
  if (Array.isArray(value)) return value.flatMap((each, at) => namedSecrets(each, flagAt(at - 1, value)))
  if (isObject(value)) return Object.entries(value).flatMap(([key, each]) => namedSecrets(each, key))
  if (typeof value !== 'string') return []
  return value.split(/[\s?&]+/).flatMap(word => {
    const [, key = name, rest = word] = /^-*([\w-]+)=(.+)$/.exec(word) ?? []
    return (SECRET_NAME.test(key) || /:\/\//.test(rest)) && !/^[/~-]/.test(rest) ? secretsOf(key, rest) : []
  })
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readText(file: string): string {
  return readRegularFileNow(file, MOST_BYTES)?.toString('utf8') ?? ''
}

function findSecrets(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const [, name = '', raw = ''] = /^\s*(?:export\s+)?([A-Za-z_][\w.]{0,100})\s*=\s*(.{0,10000})$/.exec(line) ?? []
    const [, , quoted, bare = ''] = /^(["'`])(.*?)\1|^([^\s#]*)/.exec(raw.trim()) ?? []
    return secretsOf(name, quoted ?? bare)
  })
}

/** A value of several words could be a command, and hiding it would disguise what a person is asked to approve. */
const ONE_WORD = /^[^\s"'`;|&$()<>\\]+$/
const SECRET_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|PRIVATE|DSN|SALT|SIGN|COOKIE|WEBHOOK/i
/** `development`, `keycloak-dev`: a plain word occurs in other texts too, and hiding it would blacken them. */
const PLAIN_WORD = /^[a-z]+([-_.][a-z]+)?$/i
const RANDOM = /^(?=.*[a-z])(?=.*\d)[\w+/=-]{24,}$/i

function secretsOf(name: string, value: string): string[] {
  const [, password] = /^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:([^\s/@]+)@/i.exec(value) ?? []
  if (password !== undefined) return ONE_WORD.test(password) && !PLAIN_WORD.test(password) ? [password] : []
  if (!ONE_WORD.test(value) || PLAIN_WORD.test(value)) return []
  const isAddress = /^[a-z][a-z0-9+.-]*:\/\//i.test(value)
  return (SECRET_NAME.test(name) && (!isAddress || /WEBHOOK|DSN/i.test(name))) || RANDOM.test(value) ? [value] : []
}
