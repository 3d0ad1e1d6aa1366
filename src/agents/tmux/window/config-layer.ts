import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { notLoggedIn } from '../../../domain/agents/login.ts'
import { claudeManifest } from '../../manifests/claude.ts'
import type { SeatFolder } from '../seat.ts'

type Env = Record<string, string>

/** What Claude Code is told about where its own settings are, and that it need not ask about trust or a first start. */
export interface ConfigLayer {
  /** The folder that it works with: there are its state files. */
  directory: string
  env: Env
}

/** Any of them says who pays, without a stored login. */
const CREDENTIALS = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
]
/** These are of one process or would tell another's; the state file itself is one of them. */
const NOT_SHARED = new Set([
  '.claude.json',
  '.credentials.json',
  'sessions',
  'backups',
  'ide',
  'session-env',
  'shell-snapshots',
])
/** Conversations are kept where the person's own are: they can be resumed by every host, and their cost is counted. */
const MADE = ['projects']

/**
 * An interactive Claude Code asks three things before it works: it introduces itself, asks whether the folder is trusted, and
 * whether a key of the environment may be used. Whether the project is trusted was settled before (`pcc trust`), by what is
 * loaded at all. The person's own files are not written to:
 *
 * - With a key or token in the environment it gets a folder of the session's own, in which these questions are answered and
 *   everything else of the person's folder is linked.
 * - With a stored login it works in the person's own folder, because a login cannot be linked (Claude Code refuses to follow) and a
 *   copy would part from it when it is renewed. Who has logged in has answered the first question; the second is answered by a
 *   variable.
 */
export function configLayer(seat: SeatFolder, { env, cwd }: { env: Env; cwd: string }): ConfigLayer {
  const own = env['CLAUDE_CONFIG_DIR'] ?? join(env['HOME'] ?? homedir(), '.claude')
  if (!hasCredential(env)) {
    // It would ask a person to log in, and wait.
    if (readOwn(own, env)['hasCompletedOnboarding'] !== true) throw notLoggedIn(claudeManifest)
    return { directory: own, env: { CLAUDE_CODE_SANDBOXED: '1' } }
  }
  const directory = join(seat.path, 'config')
  mkdirSync(directory, { mode: 0o700 })
  for (const name of MADE) mkdirSync(join(own, name), { recursive: true, mode: 0o700 })
  for (const name of readdirSync(own)) {
    if (!NOT_SHARED.has(name)) symlinkSync(join(own, name), join(directory, name))
  }
  seat.write('config/.claude.json', JSON.stringify(answered(readOwn(own, env), { env, cwd })))
  return { directory, env: { CLAUDE_CONFIG_DIR: directory } }
}

function hasCredential(env: Env): boolean {
  return CREDENTIALS.some(name => Boolean(env[name]))
}

/** What the person has told Claude Code; nothing where it never ran, or where the file cannot be read. */
function readOwn(own: string, env: Env): Record<string, unknown> {
  const file = env['CLAUDE_CONFIG_DIR'] ? join(own, '.claude.json') : join(env['HOME'] ?? homedir(), '.claude.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}

function answered(own: Record<string, unknown>, { env, cwd }: { env: Env; cwd: string }): Record<string, unknown> {
  const key = env['ANTHROPIC_API_KEY']
  const projects = own['projects'] as Record<string, object> | undefined
  return {
    ...own,
    hasCompletedOnboarding: true,
    ...(key && { customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] } }),
    projects: { ...projects, [cwd]: { ...projects?.[cwd], hasTrustDialogAccepted: true } },
  }
}
