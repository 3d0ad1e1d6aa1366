import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hookTranslator } from '../../../agents/hooks/vendors.ts'
import { hookLauncher } from '../../../base/app-paths.ts'
import { dateTime } from '../../../base/clock.ts'
import { isObject } from '../../../base/json.ts'
import { neutral } from '../../../base/neutral.ts'
import { problemOf, runShort } from '../../../base/process/run-short.ts'
import { parseToml } from '../../../base/toml.ts'
import { refreshLauncher } from '../../../daemon/hook-launcher.ts'
import { readListener } from '../../../daemon/hook-listener.ts'
import { DOCTOR_SESSION, type HookManifest, type HookVendor } from '../../../domain/hooks.ts'
import { HookOutbox } from '../../../supervisor/hooks/outbox.ts'
import { type CommandContext, ExitCode } from '../../context.ts'
import type { Tone } from '../../render/text.ts'
import { parseValue } from './edit-json.ts'
import { type AgentHooks, type HookState, readAgents } from './status.ts'
import { type HookChoice, otherHooks, ownHook, vendorFolder } from './vendor-files.ts'

/** One thing that was looked at. `warning`: it works, and a person should know this. */
export interface HookCheck {
  what: string
  result: 'ok' | 'warning' | 'failed'
  says: string
}

/** `pcc hooks doctor`: tries the hooks of each agent, and says what holds where they fail. */
export async function examineHooks(choice: HookChoice, context: CommandContext): Promise<void> {
  const { env, json, out, paths, terminal } = context
  refreshLauncher(paths, { env })
  const agents = await readAgents(choice, context)
  const examined: { agent: HookVendor; name: string; checks: HookCheck[] }[] = []
  // One after another: the time of a try is measured.
  for (const { agent, name, ...hooks } of agents)
    examined.push({ agent, name, checks: await examineAgent({ agent, name, ...hooks }, context) })
  if (json) out(JSON.stringify({ agents: examined }, null, 2))
  else if (examined.length === 0) out('No agent was found here. Name one: pcc hooks doctor --claude')
  else
    for (const { name, checks } of examined) {
      out(terminal.paint('bold', name))
      for (const { what, result, says } of checks)
        out(`  ${terminal.paint(TONES[result], SIGNS[result])} ${what}: ${neutral(says)}`)
    }
  if (examined.some(({ checks }) => checks.some(({ result }) => result === 'failed'))) throw new ExitCode(1)
}

const SIGNS = { ok: '✓', warning: '!', failed: '✗' }
const TONES: Record<HookCheck['result'], Tone> = { ok: 'green', warning: 'yellow', failed: 'red' }

async function examineAgent({ agent, program, files }: AgentHooks, context: CommandContext): Promise<HookCheck[]> {
  const { manifest } = hookTranslator(agent)
  const installed = files.filter(({ state }) => state === 'installed' || state === 'outdated')
  const checks = [await checkVersion(manifest, program), ...files.flatMap(checkFile)]
  if (installed.length === 0) {
    const says = `none; calls of this agent are not judged. To install them: pcc hooks install --${agent}`
    return [...checks, { what: 'hooks', result: 'warning', says }]
  }
  checks.push(...installed.flatMap(file => checkContent(file, manifest, context)))
  if (agent === 'codex') checks.push(...installed.map(file => checkCodexTrust(file, context)))
  if (installed.some(({ over }) => over === 'http')) checks.push(await tryListener(manifest, context))
  checks.push(await tryLauncher(manifest, context), describeFailure(manifest), ...checkRecord(context))
  return checks
}

/** What agents do without the daemon waits for it on the disk, and not for ever: a script may have filled that, too. */
function checkRecord({ paths }: CommandContext): HookCheck[] {
  const since = new HookOutbox(paths).fullSince()
  if (since === undefined) return []
  const says = `since ${dateTime(since)} nothing is recorded, because too much waits for the daemon; calls are judged all the same. To store it: pcc daemon start`
  return [{ what: 'record', result: 'warning', says }]
}

async function checkVersion({ name, range, verified }: HookManifest, program: string | null): Promise<HookCheck> {
  const what = 'program'
  if (program === null) return { what, result: 'warning', says: `${name} is not on the PATH` }
  const run = { command: program, args: ['--version'], cwd: '/', env: process.env, timeoutMs: 15_000, maxBytes: 10_000 }
  const { stdout } = await runShort(run)
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0]
  if (version === undefined) return { what, result: 'warning', says: `${program} does not say its version` }
  const isOld = compareVersions(version, range.from) < 0
  const isNew = range.to !== undefined && compareVersions(version, range.to) > 0
  const tried =
    verified.by === 'run' ? `tried with ${verified.versions.join(', ')}` : 'known from its documentation only'
  if (isOld) return { what, result: 'failed', says: `${version} is older than ${range.from}, whose hooks pcc reads` }
  if (isNew) return { what, result: 'warning', says: `${version} is newer than ${range.to}; ${tried}` }
  return { what, result: verified.by === 'run' ? 'ok' : 'warning', says: `${version}; ${tried}` }
}

function compareVersions(one: string, other: string): number {
  const [a, b] = [one, other].map(version => version.split('.').map(Number))
  const at = [0, 1, 2].find(index => (a?.[index] ?? 0) !== (b?.[index] ?? 0))
  return at === undefined ? 0 : (a?.[at] ?? 0) - (b?.[at] ?? 0)
}

function checkFile({ scope, file, state, problem }: HookState): HookCheck[] {
  const what = scope === 'user' ? 'your settings' : "the project's settings"
  if (state === 'absent') return []
  if (state === 'unusable') return [{ what, result: 'failed', says: problem ?? file }]
  if (state === 'outdated')
    return [{ what, result: 'failed', says: `${OUTDATED} in ${file}; write them again: pcc hooks install` }]
  return [{ what, result: 'ok', says: `hooks installed in ${file}` }]
}

const OUTDATED = 'hooks of another version of pcc, or changed since,'

/** Settings beside the hooks that switch them off, and hooks of others for the same calls. */
function checkContent({ file, problem }: HookState, manifest: HookManifest, { paths }: CommandContext): HookCheck[] {
  const value = parseValue(readFileSync(file, 'utf8'))
  const isOurs = ownHook(paths, readListener(paths)?.port)
  const others = otherHooks(value, manifest, isOurs)
  return [
    ...(problem === undefined ? [] : [{ what: 'comments', result: 'failed' as const, says: problem }]),
    ...(isSwitchedOff(value)
      ? [{ what: 'switch', result: 'failed' as const, says: `${file} switches all hooks off` }]
      : []),
    ...(others.length > 0
      ? [{ what: 'other hooks', result: 'warning' as const, says: `${others.join(', ')} ${RACE}` }]
      : []),
  ]
}

const RACE = 'is asked too: the strictest answer holds, and it may change a call after it was judged'

function isSwitchedOff(value: unknown): boolean {
  if (!isObject(value)) return false
  const { disableAllHooks, hooksConfig } = value
  const gemini = isObject(hooksConfig) ? hooksConfig : {}
  const disabled = Array.isArray(gemini['disabled']) && gemini['disabled'].includes('pcc')
  return disableAllHooks === true || gemini['enabled'] === false || disabled
}

/** Codex records which hooks a person trusts in its own settings, by the file that they are in. */
function checkCodexTrust({ file }: HookState, { env, paths }: CommandContext): HookCheck {
  const what = 'trust of Codex'
  const config = join(vendorFolder('codex', env), 'config.toml')
  const parsed = existsSync(config) ? parseToml(readFileSync(config, 'utf8')) : undefined
  const hooks = parsed?.ok ? parsed.table['hooks'] : undefined
  const states = isObject(hooks) && isObject(hooks['state']) ? Object.entries(hooks['state']) : []
  const trusted = states.filter(
    ([key, state]) => key.startsWith(file) && isObject(state) && state['trusted_hash'] && state['enabled'] !== false,
  )
  const wanted = Object.values(hookTranslator('codex').manifest.events).flat().length
  if (trusted.length >= wanted) return { what, result: 'ok', says: `you trust these hooks (${config})` }
  const says = `Codex runs none of these hooks until you trust them: start codex and look at them with /hooks (${trusted.length} of ${wanted} trusted; ${hookLauncher(paths)})`
  return { what, result: 'failed', says }
}

function describeFailure({ name, behind }: HookManifest): HookCheck {
  const what = 'if a hook dies'
  if (behind === undefined) return { what, result: 'ok', says: `${name} blocks the call` }
  return { what, result: 'warning', says: `${name} lets the call run; keep its own policy behind it: ${behind}` }
}

/** A call that only reads, as each vendor sends it. */
function sampleCall(vendor: HookVendor, native: string): string {
  const file = join(process.cwd(), 'README.md')
  const base = { session_id: DOCTOR_SESSION, hook_event_name: native, cwd: process.cwd(), transcript_path: '' }
  const read = { claude: 'Read', codex: 'Bash', gemini: 'read_file', copilot: 'view' }[vendor]
  const input = vendor === 'codex' ? { command: 'pwd' } : { file_path: file }
  const call = { tool_name: read, tool_input: input, tool_use_id: DOCTOR_SESSION, timestamp: new Date().toISOString() }
  if (vendor !== 'copilot') return JSON.stringify({ ...base, ...call, permission_mode: 'default' })
  const args = { toolName: read, toolArgs: JSON.stringify({ path: file }), timestamp: Date.now() }
  return JSON.stringify({ sessionId: DOCTOR_SESSION, cwd: process.cwd(), ...args })
}

/** Runs the launcher as the vendor does, with a call that only reads. */
async function tryLauncher(
  { vendor, events, timeouts }: Pick<HookManifest, 'vendor' | 'events' | 'timeouts'>,
  { env, paths }: Pick<CommandContext, 'env' | 'paths'>,
): Promise<HookCheck> {
  const what = 'try'
  const native = events.tool_before?.[0]
  if (native === undefined) return { what, result: 'warning', says: 'this agent asks no hook before a call' }
  const began = performance.now()
  const timeoutMs = (timeouts.tool_before ?? timeouts.other) * 1000
  const call = { command: hookLauncher(paths), args: [vendor, native], cwd: process.cwd(), env }
  const result = await runShort({ ...call, input: sampleCall(vendor, native), timeoutMs, maxBytes: 100_000 })
  const took = `${Math.round(performance.now() - began)} ms`
  const problem = problemOf(result)
  if (problem === undefined)
    return { what, result: 'ok', says: `answered in ${took}: ${shorten(result.stdout) || 'no opinion'}` }
  const says = `${problem} after ${took}: ${shorten(result.stderr)}. Write the launcher again: pcc hooks install`
  return { what, result: 'failed', says }
}

async function tryListener({ vendor, events }: HookManifest, { paths }: CommandContext): Promise<HookCheck> {
  const what = 'try over HTTP'
  const place = readListener(paths)
  const native = events.tool_before?.[0]
  if (!place || native === undefined)
    return { what, result: 'failed', says: 'no port is recorded: pcc hooks install --http' }
  const began = performance.now()
  try {
    const reply = await fetch(`http://127.0.0.1:${place.port}/hooks/${vendor}/${native}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${place.key}`, 'content-type': 'application/json' },
      body: sampleCall(vendor, native),
      signal: AbortSignal.timeout(10_000),
    })
    const took = `${Math.round(performance.now() - began)} ms`
    return {
      what,
      result: reply.ok ? 'ok' : 'failed',
      says: `${reply.status} after ${took}: ${shorten(await reply.text())}`,
    }
  } catch {
    return {
      what,
      result: 'failed',
      says: 'the daemon does not answer, so Claude Code blocks every call: pcc daemon start',
    }
  }
}

function shorten(output: string): string {
  const line = output.trim().replace(/\s+/g, ' ')
  return line.length > 160 ? `${line.slice(0, 159)}…` : line
}
