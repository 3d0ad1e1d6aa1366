import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { LOOK, refuseHook } from '../../agents/hooks/refuse.ts'
import { hookTranslator } from '../../agents/hooks/vendors.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import type { Log } from '../../base/log.ts'
import { nestingDepth } from '../../base/process/marker.ts'
import type { CapturedRow } from '../../domain/hook-capture.ts'
import {
  DOCTOR_SESSION,
  type HookEvent,
  type HookOutput,
  type HookVendor,
  NO_OPINION,
  roleOf,
} from '../../domain/hooks.ts'
import type { Decision } from '../../policy/verdict/decide.ts'
import { openCapture } from './capture.ts'
import { type HookFeatureDeps, openFeatures } from './features.ts'
import { KeptTexts } from './kept-texts.ts'
import { mayOthersChangeInput } from './other-hooks.ts'
import { openPolicyCache } from './policy-cache.ts'
import { answerHook, feature, type HookCaller, type HookContext, type HookFeature, onDemand } from './router.ts'
import { type DecidedEvent, judgeCalls, type TriageDeps } from './triage.ts'
import { findVendorProcess, type VendorProcess } from './vendor-process.ts'

export interface HookRequest {
  vendor: HookVendor
  native: string
  /** What the vendor sent, parsed as JSON. */
  stdin: unknown
  caller: HookCaller
  /** Aborted shortly before the vendor stops waiting. */
  signal: AbortSignal
}

export interface HooksDeps extends Omit<HookFeatureDeps, 'home' | 'policyFor'>, Pick<TriageDeps, 'opinion'> {
  paths: AppPaths
  /** The environment whose settings count. */
  env: Record<string, string | undefined>
  log: Log
  /** Keeps what happened; the answer is given after that. */
  record(rows: CapturedRow[]): Promise<void>
  /** The vendor's process called a hook: from now on it does not speak for a person. */
  register(found: VendorProcess, caller: HookCaller): Promise<void> | void
  /** Whether the hook runs inside something that pcc itself started, and this event is not for it. */
  isOwn(caller: HookCaller, event: HookEvent): Promise<boolean> | boolean
}

export interface Hooks {
  answer(request: HookRequest): Promise<HookOutput>
}

/** Agents that start agents are a loop when they are deeper than this: none of them is waited for by a person any more. */
const MOST_NESTED = 5
const TOO_DEEP = `More than ${MOST_NESTED} agents run here, each started by the one before, which looks like a loop. ${LOOK}`

const SILENT: HookOutput = { stdout: '', stderr: '', exit: 0 }

/**
 * Answers the hooks of all vendors: translates what the vendor sent, asks the features, records what happened, and says the answer in
 * the vendor's words. The daemon and a hook without one use the same.
 */
export function openHooks(deps: HooksDeps): Hooks {
  const { paths, env, log } = deps
  const roots = openSessionRoots(paths)
  const capture = openCapture(paths)
  const decisions = new WeakMap<HookEvent, Decision>()
  const processes = new WeakMap<HookEvent, VendorProcess>()
  const home = env['HOME'] ?? '/'
  const policyFor = openPolicyCache(deps)
  const mayInputChange = openInputCheck(event => processes.get(event)?.pid)
  const decided: TriageDeps['decided'] = (event, decision) => decisions.set(event, decision)
  const features: HookFeature[] = [
    feature('triage', ['tool_before', 'permission'], judgeCalls({ ...deps, home, policyFor, mayInputChange, decided })),
    ...openFeatures({ ...deps, home, policyFor }),
  ]
  return {
    async answer({ vendor, native, stdin, caller, signal }) {
      const translator = hookTranslator(vendor)
      const event = translator.read(native, stdin, caller.folder)
      if (!event) return refuseHook(vendor, native, `pcc could not read this event. ${LOOK}`)
      if (await deps.isOwn(caller, event)) return SILENT
      if (nestingDepth(caller.ppid) > MOST_NESTED) return refuseHook(vendor, native, TOO_DEEP)
      const found = findVendorProcess(caller.ppid)
      if (found) {
        processes.set(event, found)
        await deps.register(found, caller)
      }
      const project = roots.rootOf(event, caller.env)
      const settings = onDemand(async () => (await import('./hook-settings.ts')).readHookSettings(context))
      const context: HookContext = { paths, env: caller.env, caller, project, log, signal, settings }
      const answer = await answerHook(event, features, context)
      const decision = decisions.get(event)
      if (event.session !== DOCTOR_SESSION) {
        const origin = { at: Date.now(), project, process: found, role: roleOf(event, caller.env) }
        const usage = await findUsage(event, paths)
        const rows = [
          ...(usage ? capture.describe({ ...origin, id: `${caller.id}-usage`, event: usage }) : []),
          ...capture.describe({ ...origin, id: caller.id, event, decision }),
        ]
        // A full disk must not stop the agent: the verdict counts without its record.
        await deps.record(rows).catch(error => log.error({ error }, 'what a hook reported could not be stored'))
      }
      return translator.render(event, answer ?? NO_OPINION)
    },
  }
}

/**
 * No vendor sends its usage to a hook that runs seldom enough, so it is read from the record of the conversation when a turn is over.
 * Imported on use: the hooks before and after calls need it not.
 */
async function findUsage(event: HookEvent, paths: AppPaths) {
  if (event.kind !== 'session_start' && event.kind !== 'stop' && event.kind !== 'session_end') return undefined
  return (await import('./session-usage.ts')).readSessionUsage(event, paths)
}

/** How long an answer about other hooks counts: a file of the project may be written at any time. */
const FRESH_MS = 2_000
const MOST_PLACES = 50

/** Only Claude Code has hooks that may change a call which another hook has allowed, and a dialog that a hook answers. */
function openInputCheck(pidOf: (event: HookEvent) => number | undefined) {
  const known = new Map<string, { at: number; isOpen: Promise<boolean> }>()
  return async (event: DecidedEvent, { paths, env, project }: HookContext): Promise<boolean> => {
    if (event.vendor !== 'claude') return false
    const pid = pidOf(event)
    const key = `${project}\0${pid}\0${env['CLAUDE_CONFIG_DIR'] ?? ''}`
    const last = known.get(key)
    if (last && process.uptime() * 1000 - last.at < FRESH_MS) return last.isOpen
    const isOpen = mayOthersChangeInput({ paths, env, project, pid }).catch(() => true)
    known.set(key, { at: process.uptime() * 1000, isOpen })
    for (const oldest of [...known.keys()].slice(0, -MOST_PLACES)) known.delete(oldest)
    return isOpen
  }
}

/** More sessions than a person has open at once. */
const MOST_REMEMBERED = 500

interface SessionRoots {
  /** The project that a session of a vendor works in: the one it began in. */
  rootOf(event: HookEvent, env: Record<string, string | undefined>): string
}

/**
 * The project of a session is found at its first event and stays: an agent that changes its directory to `/` must not have the whole
 * disk as its project.
 */
function openSessionRoots(paths: Pick<AppPaths, 'run'>): SessionRoots {
  const kept = new KeptTexts(paths, 'hook-sessions')
  const remembered = new Map<string, string>()
  return {
    rootOf(event, env) {
      // It has no conversation whose project could stay.
      if (event.session === DOCTOR_SESSION) return findProjectRoot(event.cwd, env['HOME'])
      const name = `${event.vendor}\0${event.session}`
      const known = remembered.get(name)
      if (known !== undefined) return known
      const first = kept.read(name)
      const root = first || findProjectRoot(startDirectory(event, env), env['HOME'])
      if (!first) kept.keep(name, root, { once: true })
      remembered.set(name, root)
      for (const oldest of [...remembered.keys()].slice(0, -MOST_REMEMBERED)) remembered.delete(oldest)
      return root
    },
  }
}

/** Claude Code names the directory in which it was started, whatever its shell has changed to since. */
function startDirectory({ vendor, cwd }: HookEvent, env: Record<string, string | undefined>): string {
  const named = vendor === 'claude' ? env['CLAUDE_PROJECT_DIR'] : undefined
  return named && isAbsolute(named) ? named : cwd
}

/** Signs of the top of a project. */
const TOPS = ['.git', '.perpetualcc.toml', '.perpetualcc']

/**
 * The top of the project that a directory belongs to; the directory itself if it has none. The home directory and those above it are
 * never found from below: a repository of dotfiles there would make everything its project.
 */
function findProjectRoot(directory: string, home: string | undefined): string {
  for (let at = directory; at !== home && at !== dirname(at); at = dirname(at)) {
    if (home?.startsWith(`${at}/`)) break
    if (TOPS.some(name => existsSync(join(at, name)))) return at
  }
  return directory
}
