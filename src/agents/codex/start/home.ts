import { lstat, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify, type TomlTable } from 'smol-toml'
import { messageOf } from '../../../base/errors.ts'
import { secretId } from '../../../base/ids.ts'
import { agentMissing } from '../../manifests/agent-missing.ts'
import { codexManifest } from '../../manifests/codex.ts'

/** What of the person's own settings counts: which model, where it is, and how Codex is logged in. */
const TAKEN = [
  'model',
  'model_provider',
  'model_providers',
  'model_reasoning_effort',
  'model_reasoning_summary',
  'model_verbosity',
  'model_context_window',
  'model_auto_compact_token_limit',
  'model_catalog_json',
  'service_tier',
  'personality',
  'chatgpt_base_url',
  'openai_base_url',
  'oss_provider',
  'cli_auth_credentials_store',
  'preferred_auth_method',
  'forced_login_method',
  'forced_chatgpt_workspace_id',
  'project_doc_max_bytes',
  'project_doc_fallback_filenames',
  'tool_output_token_limit',
]
/** Folders that stay the person's own, so that a conversation of ours can be gone on with by hand. */
const SHARED_FOLDERS = ['sessions', 'archived_sessions', 'thread-writer-locks']
/** Codex writes a renewed login through the link, and only one at a time may do that. */
const SHARED_FILES = ['auth.json', 'auth.lock']
/** What the person wants every Codex to know. */
const INSTRUCTIONS = ['AGENTS.md', 'AGENTS.override.md', 'skills']

export interface CodexHome {
  /** The person's own, where conversations are kept. */
  own: string
  /** What Codex is given as its home. */
  given: string
}

/** Where Codex keeps what it keeps, for a process with this environment. */
export function codexHome(env: Record<string, string | undefined>): string {
  return env['CODEX_HOME'] || join(env['HOME'] || homedir(), '.codex')
}

/**
 * A home beside the person's own, in which Codex finds the login, the conversations and the choice of a model, and nothing else. In the
 * person's own it would find rules that let commands run unasked, hooks that answer in our place and servers whose resources it reads
 * without a question; and there is no switch that turns these off. It also writes into its settings: here it writes into a copy.
 */
export async function prepareHome(env: Record<string, string>, settings: { user: boolean }): Promise<CodexHome> {
  const own = codexHome(env)
  const given = join(own, 'pcc')
  try {
    await mkdir(given, { recursive: true, mode: 0o700 })
    for (const name of SHARED_FOLDERS) {
      await mkdir(join(own, name), { recursive: true })
      await link(given, name)
    }
    for (const name of SHARED_FILES) await link(given, name)
    for (const name of INSTRUCTIONS) {
      const isTaken = settings.user && (await isThere(join(own, name)))
      await (isTaken ? link(given, name) : unlink(given, name))
    }
    await replace(join(given, 'config.toml'), await takenSettings(join(own, 'config.toml')))
  } catch (error) {
    throw agentMissing(codexManifest, `its folder ${own} cannot be prepared: ${messageOf(error)}`, error)
  }
  return { own, given }
}

async function takenSettings(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const all = parse(text)
  const profile = chosenProfile(all)
  return stringify({ ...taken(all), ...(profile && taken(profile)) })
}

/** The profile that the person's settings name stands over the rest of them. */
function chosenProfile({ profile, profiles }: TomlTable): TomlTable | undefined {
  if (typeof profile !== 'string' || !isTable(profiles)) return undefined
  const chosen = profiles[profile]
  return isTable(chosen) ? chosen : undefined
}

function taken(settings: TomlTable): TomlTable {
  return Object.fromEntries(TAKEN.flatMap(key => (settings[key] === undefined ? [] : [[key, settings[key]]])))
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

async function link(folder: string, name: string): Promise<void> {
  const path = join(folder, name)
  const there = await lstat(path).catch(() => undefined)
  if (there?.isSymbolicLink()) return
  // Codex made one of its own, before there was one to share.
  if (there) await rm(path, { recursive: true, force: true })
  await symlink(join('..', name), path).catch(error => {
    // Another session was faster.
    if (error.code !== 'EEXIST') throw error
  })
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined
}

async function unlink(folder: string, name: string): Promise<void> {
  const path = join(folder, name)
  const there = await lstat(path).catch(() => undefined)
  if (there?.isSymbolicLink()) await rm(path, { force: true })
}

/** At once, because another session may be reading it. */
async function replace(file: string, text: string): Promise<void> {
  const next = `${file}.${secretId(6)}`
  await writeFile(next, text, { mode: 0o600 })
  await rename(next, file)
}
