import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { hookTranslator } from '../../../agents/hooks/vendors.ts'
import { type AppPaths, hookLauncher } from '../../../base/app-paths.ts'
import { isObject } from '../../../base/json.ts'
import { findProgram } from '../../../base/process/find-program.ts'
import { quoteForShell } from '../../../base/words.ts'
import { HOOK_VENDORS, type HookEventKind, type HookManifest, type HookVendor } from '../../../domain/hooks.ts'
import type { ToolOverride } from '../../../policy/layers.ts'
import type { Addition } from './edit-json.ts'

export type HookScope = 'user' | 'project'

/** Which agents and settings a command is about. */
export interface HookChoice {
  /** Without any: those that are found. */
  vendors: HookVendor[]
  /** Undefined: the person's own, and for a look the project's as well. */
  scope: HookScope | undefined
  yes: boolean
  http: boolean
}

type Env = Record<string, string | undefined>

/** Where a vendor keeps its hooks and how it writes one down. */
interface VendorFiles {
  program: string
  /** The person's own folder of this vendor. */
  folder(env: Env): string
  /** The file with hooks, in that folder and in a project. */
  file: { user: string; project: string }
  /** The text of a new file. */
  blank: string
  entry(hook: HookEntry): unknown
}

interface HookEntry {
  launcher: string
  vendor: HookVendor
  native: string
  seconds: number
  /** Whether a call waits for the answer of this hook. */
  decides: boolean
}

const homeOf = (env: Env) => env['HOME'] || homedir()

/**
 * For a vendor that passes the command to a shell. Where a hook that cannot be started lets the call run, the shell says what the vendor
 * takes for a refusal.
 */
const shellCommand = ({ launcher, vendor, native, decides }: HookEntry) =>
  `${quoteForShell(launcher)} ${vendor} ${native}${decides ? ' || exit 2' : ''}`

const VENDOR_FILES: Record<HookVendor, VendorFiles> = {
  claude: {
    program: 'claude',
    folder: env => env['CLAUDE_CONFIG_DIR'] || join(homeOf(env), '.claude'),
    file: { user: 'settings.json', project: '.claude/settings.json' },
    blank: '{}\n',
    // With `args` no shell is between Claude Code and the launcher.
    entry: ({ launcher, vendor, native, seconds, decides }) => ({
      hooks: [
        {
          ...{ type: 'command', command: launcher, args: [vendor, native], timeout: seconds },
          ...(decides && { onFailure: 'block' }),
        },
      ],
    }),
  },
  codex: {
    program: 'codex',
    folder: env => env['CODEX_HOME'] || join(homeOf(env), '.codex'),
    file: { user: 'hooks.json', project: '.codex/hooks.json' },
    blank: '{}\n',
    entry: hook => ({ hooks: [{ type: 'command', command: shellCommand(hook), timeout: hook.seconds }] }),
  },
  gemini: {
    program: 'gemini',
    folder: env => join(env['GEMINI_CLI_HOME'] || homeOf(env), '.gemini'),
    file: { user: 'settings.json', project: '.gemini/settings.json' },
    blank: '{}\n',
    entry: hook => ({
      hooks: [{ type: 'command', name: 'pcc', command: shellCommand(hook), timeout: hook.seconds * 1000 }],
    }),
  },
  copilot: {
    program: 'copilot',
    folder: env => env['COPILOT_HOME'] || join(homeOf(env), '.copilot'),
    file: { user: 'hooks/pcc.json', project: '.github/hooks/pcc.json' },
    blank: '{\n  "version": 1\n}\n',
    entry: hook => ({ type: 'command', bash: shellCommand(hook), timeoutSec: hook.seconds }),
  },
}

export interface HookFile {
  vendor: HookVendor
  scope: HookScope
  path: string
  blank: string
  /** A link must not lead out of this folder. */
  within?: string
}

export function hookFile(vendor: HookVendor, { scope, env, project }: Where): HookFile {
  const { folder, file, blank } = VENDOR_FILES[vendor]
  return scope === 'user'
    ? { vendor, scope, blank, path: join(folder(env), file.user) }
    : { vendor, scope, blank, path: join(project, file.project), within: project }
}

export interface Where {
  scope: HookScope
  env: Env
  project: string
}

/** The vendors whose program or folder is on this machine. */
export function findVendors(env: Env): HookVendor[] {
  return HOOK_VENDORS.filter(vendor => findVendorProgram(vendor, env) || isFolder(vendorFolder(vendor, env)))
}

export function findVendorProgram(vendor: HookVendor, env: Env): string | undefined {
  return findProgram(VENDOR_FILES[vendor].program, env)
}

export function vendorFolder(vendor: HookVendor, env: Env): string {
  return VENDOR_FILES[vendor].folder(env)
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** How Claude Code reaches the daemon without starting a process. */
export interface HttpHooks {
  port: number
  key: string
}

/** What is added to a vendor's settings: one hook for each of its events. */
export function hookAdditions(
  vendor: HookVendor,
  paths: Pick<AppPaths, 'home'>,
  { http, override = { skip: [], timeouts: {} } }: { http?: HttpHooks | undefined; override?: ToolOverride } = {},
): Addition[] {
  const { manifest } = hookTranslator(vendor)
  const launcher = hookLauncher(paths)
  return Object.entries(manifest.events).flatMap(([name, natives]) => {
    const kind = name as HookEventKind
    const decides = DECIDING.includes(kind)
    const wanted = natives.filter(native => decides || !override.skip.includes(native))
    return wanted.map(native => {
      const seconds = override.timeouts[native] ?? manifest.timeouts[kind] ?? manifest.timeouts.other
      const hook = { launcher, vendor, native, decides, seconds }
      // Claude Code sends no SessionStart over HTTP.
      const isHttp = http !== undefined && kind !== 'session_start'
      const value = isHttp ? { hooks: [httpEntry(hook, http)] } : VENDOR_FILES[vendor].entry(hook)
      return { path: ['hooks', native], value }
    })
  })
}

const DECIDING: readonly HookEventKind[] = ['tool_before', 'permission']

function httpEntry({ vendor, native, seconds, decides }: HookEntry, { port, key }: HttpHooks) {
  return {
    ...{ type: 'http', url: `http://127.0.0.1:${port}/hooks/${vendor}/${native}`, timeout: seconds },
    ...(decides && { onFailure: 'block' }),
    headers: { Authorization: `Bearer ${key}` },
  }
}

/** Knows the hooks that were added by this installation of pcc, whatever their event, timeout or place. */
export function ownHook(paths: Pick<AppPaths, 'home'>, port: number | undefined): (value: unknown) => boolean {
  const launcher = hookLauncher(paths)
  const starts = HOOK_VENDORS.map(vendor => `${quoteForShell(launcher)} ${vendor} `)
  return value => {
    if (!isObject(value)) return false
    const { command, bash, url } = value
    if (typeof url === 'string') return port !== undefined && url.startsWith(`http://127.0.0.1:${port}/hooks/claude/`)
    return (
      command === launcher || [command, bash].some(text => isText(text) && starts.some(start => text.startsWith(start)))
    )
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** The programs of other hooks for the same events before a call: they may change what was judged, or answer differently. */
export function otherHooks(value: unknown, { events }: HookManifest, isOurs: (value: unknown) => boolean): string[] {
  const natives = [...(events.tool_before ?? []), ...(events.permission ?? [])]
  return listHooks(value)
    .filter(({ event, hook }) => natives.includes(event) && !isOurs(hook))
    .map(({ hook }) =>
      isObject(hook) ? String(hook['command'] ?? hook['bash'] ?? hook['url'] ?? hook['type']) : 'a hook',
    )
}

/** The hooks of a settings file, each with its event and with what the group around it says, for example about which tools. */
export function listHooks(value: unknown): { event: string; group: object; hook: unknown }[] {
  const hooks = isObject(value) && isObject(value['hooks']) ? value['hooks'] : {}
  return Object.entries(hooks).flatMap(([event, entries]) =>
    (Array.isArray(entries) ? (entries as unknown[]) : []).flatMap(entry => {
      const { hooks: inside, ...group } = isObject(entry) ? entry : {}
      if (!Array.isArray(inside)) return [{ event, group: {}, hook: entry }]
      return inside.map((hook: unknown) => ({ event, group, hook }))
    }),
  )
}
