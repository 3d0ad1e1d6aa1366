import { existsSync, readFileSync } from 'node:fs'
import { hookTranslator } from '../../../agents/hooks/vendors.ts'
import { type AppPaths, appPathsFor } from '../../../base/app-paths.ts'
import { AppError } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import { refreshLauncher } from '../../../daemon/hook-launcher.ts'
import { type ListenerAddress, readListener, reserveListener } from '../../../daemon/hook-listener.ts'
import type { HookManifest, HookVendor } from '../../../domain/hooks.ts'
import { noteFolder } from '../../../memory/outbox.ts'
import { loadToolOverride } from '../../../policy/layers.ts'
import { trustedFile, trustStatus } from '../../../policy/trust/trust.ts'
import { type CommandContext, ExitCode } from '../../context.ts'
import { confirm } from '../../input.ts'
import { refuseInSession } from '../../options.ts'
import { differingLines } from '../accept.ts'
import { applyChange, isChange, planInstall, planUninstall, type SettingsChange } from './change-settings.ts'
import { isStrictJson } from './edit-json.ts'
import { type Installed, readInstalled } from './record.ts'
import { findVendors, type HookChoice, type HookFile, hookAdditions, hookFile, ownHook } from './vendor-files.ts'

/** A file that can be changed, or why it cannot. */
type Planned = { file: HookFile; change: SettingsChange } | { file: HookFile; error: AppError }

/** `pcc hooks install`: shows what would be added to which settings, asks, and adds it. */
export async function installHooks(choice: HookChoice, context: CommandContext): Promise<void> {
  refuseInSession(context.env, 'hooks install')
  const { env, paths } = context
  const vendors = choice.vendors.length > 0 ? choice.vendors : findVendors(env)
  if (vendors.length === 0) throw new AppError('hooks_no_agent', {})
  const where = { scope: choice.scope ?? ('user' as const), env, project: process.cwd() }
  const listener = choice.http ? await reserveListener(paths) : readListener(paths)
  const planned = await Promise.all(
    vendors.map(async vendor => {
      const file = hookFile(vendor, where)
      return plan(file, await wantedChange(file, { paths, listener, http: choice.http }))
    }),
  )
  const say = speaker(context)
  if (planned.some(each => 'change' in each && isChange(each.change))) {
    for (const each of planned) for (const line of plannedLines(each, context)) say(line)
    for (const line of notesFor(vendors, choice, where.scope)) say(line)
    for (const line of planned.flatMap(commentNote)) say(line)
    await confirm({ action: 'Changing these settings', question: 'Change these settings?', yes: choice.yes })
  }
  const place = chosenPlace(context)
  refreshLauncher(paths, { env, create: true, ...place })
  noteFolder(paths)
  const results = planned.map(each => apply(each, each => applyChange(paths, each, place), context))
  if (choice.http) await openListener(context)
  report(results, { done: 'installed', unchanged: 'was installed already' }, context)
}

/** `pcc hooks uninstall`: takes out what was added, wherever that is recorded, and in the settings that are named. */
export async function uninstallHooks(choice: HookChoice, context: CommandContext): Promise<void> {
  refuseInSession(context.env, 'hooks uninstall')
  const { paths } = context
  const isOurs = ownHook(paths, readListener(paths)?.port)
  const planned = filesToClean(choice, context).map(file => plan(file, () => planUninstall(file, { paths, isOurs })))
  const say = speaker(context)
  if (planned.some(each => 'change' in each && isChange(each.change))) {
    for (const each of planned) for (const line of plannedLines(each, context)) say(line)
    await confirm({ action: 'Changing these settings', question: 'Take these hooks out?', yes: choice.yes })
  }
  const { place } = readInstalled(paths)
  const results = planned.map(each => apply(each, each => applyChange(paths, each, place), context))
  report(results, { done: 'uninstalled', unchanged: 'had no hooks of pcc' }, context)
}

interface Wanted {
  paths: AppPaths
  listener: ListenerAddress | undefined
  /** Undefined: as it is now. */
  http?: boolean
}

/** What a settings file should become, by the vendor's manifest and what the person laid over it. */
export async function wantedChange(file: HookFile, { paths, listener, http }: Wanted): Promise<() => SettingsChange> {
  const { vendor, within: project } = file
  const trusted = project === undefined ? undefined : trustedFile(await trustStatus(paths, project))
  const override = await loadToolOverride(vendor, { paths, project, trusted })
  const isOurs = ownHook(paths, listener?.port)
  return () => {
    const overHttp = file.vendor === 'claude' && (http || usesHttp(file, listener))
    const additions = hookAdditions(file.vendor, paths, { override, ...(overHttp && { http: listener }) })
    return planInstall(file, additions, { paths, isOurs })
  }
}

/** Whether the hooks that are installed ask the daemon over HTTP. */
export function usesHttp({ path }: HookFile, listener: ListenerAddress | undefined): boolean {
  if (!listener || !existsSync(path)) return false
  return readFileSync(path, 'utf8').includes(`http://127.0.0.1:${listener.port}/hooks/claude/`)
}

/** The recorded files, and the person's own of each vendor: a record may be lost. */
function filesToClean({ vendors, scope }: HookChoice, { env, paths }: CommandContext): HookFile[] {
  const where = { env, project: process.cwd() }
  const recorded = readInstalled(paths).files.map(({ vendor, scope: at, path }) => ({
    ...hookFile(vendor, { ...where, scope: 'user' }),
    ...{ scope: at, path },
  }))
  const named = (vendors.length > 0 ? vendors : findVendors(env)).map(vendor =>
    hookFile(vendor, { ...where, scope: scope ?? 'user' }),
  )
  const all = new Map([...named, ...recorded].map(file => [file.path, file]))
  return [...all.values()].filter(
    file => (vendors.length === 0 || vendors.includes(file.vendor)) && (scope === undefined || file.scope === scope),
  )
}

function plan(file: HookFile, work: () => SettingsChange): Planned {
  try {
    return { file, change: work() }
  } catch (error) {
    if (error instanceof AppError) return { file, error }
    throw error
  }
}

function plannedLines(planned: Planned, { terminal }: CommandContext): string[] {
  if ('error' in planned) return [terminal.paint('red', neutral(planned.error.message)), '']
  const { found, after, file } = planned.change
  if (!isChange(planned.change)) return []
  const target = found.target === undefined ? '' : ` (a link to ${found.target})`
  const { lines } = differingLines(found.text, after?.toString('utf8') ?? '', terminal)
  return [terminal.paint('bold', neutral(`${file.path}${target}:`)), ...lines, '']
}

/** Why hooks in a file with comments do nothing. */
export function ignoresComments({ name }: HookManifest, file: string): string {
  return `${name} ignores ${file} because it has comments or a comma at the end of a list: take them out, or no hook in it works`
}

function commentNote(planned: Planned): string[] {
  if ('error' in planned) return []
  const { manifest } = hookTranslator(planned.file.vendor)
  const { text } = planned.change.found
  return manifest.comments || text === '' || isStrictJson(text)
    ? []
    : [neutral(ignoresComments(manifest, planned.file.path)), '']
}

function notesFor(vendors: HookVendor[], { http }: HookChoice, scope: string): string[] {
  const notes = vendors.flatMap(vendor => {
    const { name, needs } = hookTranslator(vendor).manifest
    return needs === undefined ? [] : [`${name}: ${needs}`]
  })
  if (http)
    notes.push(
      'Claude Code asks the daemon directly. While the daemon is away, Claude Code blocks every call: pcc daemon start',
    )
  if (scope === 'project')
    notes.push(
      'These hooks name a file of your own: if you commit the settings, the calls of others who work here are blocked.',
      'After this change pcc asks for your agreement to the project again: pcc trust',
    )
  return notes.length === 0 ? [] : [...notes, '']
}

interface FileResult {
  vendor: HookVendor
  scope: string
  file: string
  state: 'done' | 'unchanged' | 'failed'
  problem?: string
}

function apply(planned: Planned, write: (change: SettingsChange) => void, context: CommandContext): FileResult {
  const { vendor, scope, path: file } = planned.file
  const result = { vendor, scope, file }
  const fail = (error: AppError) => ({ ...result, state: 'failed' as const, problem: error.message })
  if ('error' in planned) return fail(planned.error)
  try {
    write(planned.change)
    return { ...result, state: isChange(planned.change) ? 'done' : 'unchanged' }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (!context.json) context.note(neutral(error.message))
    return fail(error)
  }
}

function report(results: FileResult[], words: { done: string; unchanged: string }, context: CommandContext): void {
  const failed = results.some(({ state }) => state === 'failed')
  if (context.json) context.out(JSON.stringify({ files: results }, null, 2))
  else
    for (const { state, vendor, file, problem } of results) {
      const { name } = hookTranslator(vendor).manifest
      context.out(neutral(state === 'failed' ? `${name}: ${problem}` : `${name}: ${words[state]} (${file})`))
    }
  if (!context.json && results.length === 0) context.out('There is nothing to take out.')
  if (failed) throw new ExitCode(2)
}

function speaker({ json, out }: CommandContext): (line: string) => void {
  return line => {
    if (!json) out(line)
  }
}

/** The places that were named by a flag or a variable: the hooks must find the same daemon. */
function chosenPlace({ paths, placeFlags, env }: CommandContext): Installed['place'] {
  const standard = appPathsFor({ env: { PCC_HOME: paths.home } })
  const isNamed = (flag: string, variable: string) => placeFlags.includes(flag) || Boolean(env[variable])
  return {
    ...(isNamed('--config', 'PCC_CONFIG') && paths.configFile !== standard.configFile && { config: paths.configFile }),
    ...(isNamed('--data-dir', 'PCC_DATA_DIRECTORY') && paths.data !== standard.data && { data: paths.data }),
  }
}

/** A daemon that runs already opens its listener now; any other opens it when it starts. */
async function openListener({ paths }: CommandContext): Promise<void> {
  const { findClient } = await import('../../connection/client.ts')
  await (await findClient(paths))?.request('POST', '/hook-listener', {})
}
