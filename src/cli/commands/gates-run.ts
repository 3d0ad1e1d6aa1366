import { existsSync, realpathSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { neutral, neutralOutput } from '../../base/neutral.ts'
import { quoteForShell } from '../../base/words.ts'
import { setInProjectFile } from '../../domain/config/edit.ts'
import { findProjectFile, readConfigFile } from '../../domain/config/layers.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { type Evidence, hasFailed, hasPassed, type TaskGates } from '../../domain/evidence.ts'
import { GATE_COMMANDS, type GateCommand, type GateProfile } from '../../domain/option-values.ts'
import type { TrustStatus } from '../../policy/trust/trust.ts'
import { commandSandboxes } from '../../workspace/command/plan-sandbox.ts'
import { detectProject, type GateProposal, proposeGateCommands } from '../../workspace/detect/detect-project.ts'
import { openProjectReader } from '../../workspace/detect/project-files.ts'
import { tryGates } from '../../workspace/verify/command-gate.ts'
import { PROFILES, readGateSettings } from '../../workspace/verify/gate-settings.ts'
import { type CommandContext, ExitCode } from '../context.ts'
import { loadSettings } from '../load-settings.ts'
import { refuseInSession } from '../options.ts'
import { GATE_MARKS } from '../render/task-lines.ts'
import { pad, type Terminal } from '../render/text.ts'
import { projectPath } from './init/init-project.ts'

/** Shows the gates of a project and, for a task, their results. */
export async function listGates(target: string, context: CommandContext): Promise<void> {
  const { project, task } = await findTarget(target, context)
  const loaded = await loadSettings({ ...context, project })
  const gates = readGateSettings(loaded.config)
  const profile = PROFILES[gates.profile]
  // The project's file as if it were trusted: this shows commands that nobody has agreed to yet.
  const untrusted = readGateSettings((await loadConfig({ ...context, project, trusted: () => true })).config)
  const rows = GATE_COMMANDS.map(gate => ({
    gate,
    command: gates.commands[gate] ?? null,
    waits_for_trust: gates.commands[gate] === undefined ? (untrusted.commands[gate] ?? null) : null,
    in_profile: profile.commands.includes(gate),
    origin: loaded.origin(`gates.${gate}`),
  }))
  if (context.json) {
    const { rounds, timeoutMs, verifier } = gates
    const limits = { rounds, timeout_seconds: timeoutMs / 1000, verifier, task: task ?? null }
    context.out(JSON.stringify({ project, profile: gates.profile, gates: rows, ...limits }, null, 2))
    return
  }
  const { paint } = context.terminal
  context.out(`${neutral(project)}: profile ${gates.profile}`)
  for (const { gate, command, waits_for_trust, in_profile } of rows) {
    const text =
      command !== null
        ? `${neutral(command)}${in_profile ? '' : paint('dim', `  not in profile ${gates.profile}`)}`
        : waits_for_trust !== null
          ? `${neutral(waits_for_trust)}  ${paint('yellow', 'needs your agreement: pcc trust')}`
          : paint('dim', 'not set')
    context.out(`  ${pad(gate, 10)} ${text}`)
  }
  if (rows.every(({ command, waits_for_trust }) => command === null && waits_for_trust === null))
    context.out('No command is set: nothing proves that a task is done. Find them with: pcc gates detect')
  if (!task) return
  context.out('')
  context.out(`${task.id} ${neutral(task.title)}`)
  if (task.evidence.length === 0) context.out('  No gate has checked it yet.')
  for (const result of task.evidence) for (const line of resultLines(result, context.terminal)) context.out(line)
}

export interface RunGates {
  target: string
  only?: GateCommand[]
  profile?: GateProfile
  context: CommandContext
}

/** Runs the commands of the gates and shows the results; exits with 1 if one failed. Ctrl+C ends the running command. */
export async function runGates({ target, only = [], profile, context }: RunGates): Promise<void> {
  const { project, directory, task } = await findTarget(target, context)
  const loaded = await loadSettings({ ...context, project })
  const gates = { ...readGateSettings(loaded.config), ...(profile && { profile }) }
  const unconfirmed = loaded.untrusted.filter(key => key.startsWith('gates.'))
  if (unconfirmed.length > 0) context.note(`Left out until you agree to them with pcc trust: ${unconfirmed.join(', ')}`)
  const stop = new AbortController()
  const interrupt = () => stop.abort()
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  await using sandbox = commandSandboxes(loaded.config, {
    ...{ project, paths: context.paths },
    log: line => context.note(line),
  })
  try {
    const results = await tryGates({
      ...{ directory, gates, only, env: context.env, isolation: loaded.config.agents.isolation, signal: stop.signal },
      sandbox,
      onBegin: (gate, command) => context.note(`${gate}: ${neutral(command)} …`),
      onEnd: result => {
        if (context.json) return
        for (const line of resultLines(result, context.terminal)) context.out(line)
        if (!['passed', 'skipped'].includes(result.status))
          context.out(neutralOutput(result.output).trimEnd().replaceAll(/^/gm, '      '))
      },
    })
    if (results.length === 0 && !stop.signal.aborted) throw new AppError('gates_none', { project })
    if (context.json)
      context.out(JSON.stringify({ project, directory, task: task?.id ?? null, checks: results }, null, 2))
    if (stop.signal.aborted) throw new ExitCode(130)
    const tests = results.find(({ gate }) => gate === 'test')
    if (!task && tests && hasFailed(tests) && gates.knownFailures === 'block')
      context.note(tests.tests === null ? RED_BEFORE : `${RED_BEFORE} ${LET_PASS}`)
    if (!results.every(hasPassed)) throw new ExitCode(1)
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
  }
}

const RED_BEFORE =
  'The tests fail before any work. A task that leaves them so waits for you: let the first task mend them.'
const LET_PASS = 'To let tests fail that failed before: pcc config set gates.known_failures allow --project'

/** A project directory, or a task with the directory in which it works. */
export interface GateTarget {
  project: string
  /** The directory in which commands run. */
  directory: string
  task?: TaskGates | undefined
}

/** Resolves a name to a directory, or else asks the daemon for a task of that name. */
async function findTarget(target: string, context: CommandContext): Promise<GateTarget> {
  const path = resolve(target)
  if (existsSync(path)) return { project: realpathSync(path), directory: realpathSync(path) }
  const { openClient } = await import('../connection/client.ts')
  const client = await openClient(context.paths, context)
  const task = await client.request<TaskGates>('GET', `/tasks/${encodeURIComponent(target)}/gates`)
  return { project: task.project, directory: task.directory, task }
}

type ShownResult = Pick<
  Evidence,
  'gate' | 'status' | 'command' | 'exit' | 'duration_ms' | 'findings' | 'tests' | 'cached' | 'output'
>

const MAX_FINDINGS = 10

/** The result of one gate: its status, its command and its findings. */
function resultLines(result: ShownResult, { paint }: Terminal): string[] {
  const { glyph, tone } = GATE_MARKS[result.status]
  const facts = [
    result.status,
    ...(result.command === null ? [] : [neutral(result.command)]),
    ...(result.exit === null || result.exit === 0 ? [] : [`exit ${result.exit}`]),
    ...(result.command === null ? [] : [result.tests === null ? 'whole command only' : countTests(result.tests)]),
    ...(result.cached
      ? ['from an earlier run']
      : result.duration_ms > 0
        ? [`${(result.duration_ms / 1000).toFixed(1)} s`]
        : []),
  ]
  const shown = result.findings.slice(0, MAX_FINDINGS).map(({ text, weight, file, line }) => {
    const where = file === undefined || text.includes(file) ? '' : ` (${file}${line === undefined ? '' : `:${line}`})`
    return `      ${paint(weight === 'block' ? 'red' : 'dim', neutral(`${text}${where}`))}`
  })
  const rest = result.findings.length - shown.length
  const more = rest > 0 ? [`      and ${rest} more`] : []
  const why =
    result.status === 'skipped' && result.output !== ''
      ? [`      ${paint('dim', neutral(result.output.trimEnd()))}`]
      : []
  return [`  ${paint(tone, glyph)} ${pad(result.gate, 12)} ${facts.join('  ')}`, ...why, ...shown, ...more]
}

function countTests(tests: NonNullable<ShownResult['tests']>): string {
  const failed = tests.filter(({ status }) => status === 'failed').length
  return `${tests.length} test${tests.length === 1 ? '' : 's'}${failed > 0 ? `, ${failed} failed` : ''}`
}

export interface DetectGates {
  path: string
  write: boolean
  /** Agree to what is written, too. */
  trust: boolean
  context: CommandContext
}

/** What is done with a command that was found. */
type Outcome = 'written' | 'proposed' | 'set already' | 'left out'

/** Finds commands that could be gates, and with `write` sets those that are not set yet. */
export async function detectGates({ path, write, trust: agrees, context }: DetectGates): Promise<void> {
  if (write) refuseInSession(context.env, 'gates detect --write')
  const project = projectPath(path, { env: context.env, force: true })
  const facts = await detectProject(openProjectReader(project), project)
  const home = context.env['HOME'] ?? '/'
  const file = (await findProjectFile(project, home)) ?? join(project, '.perpetualcc.toml')
  const current = (await readConfigFile(file, home))?.values ?? {}
  const rows = proposeGateCommands(facts.commands).map(proposal => {
    const before = current[`gates.${proposal.gate}`]
    return { ...proposal, outcome: decideOutcome(proposal, before, write), ...(before !== undefined && { before }) }
  })
  const added = rows.filter(({ outcome }) => outcome === 'written')
  const trust = await import('../../policy/trust/trust.ts')
  const before = await trust.trustStatus(context.paths, project)
  const settings = added.map(({ gate, run }) => ({ key: `gates.${gate}` as const, value: run }))
  if (added.length > 0) setInProjectFile(file, settings, home)
  const agreed =
    agrees && added.length > 0 ? ((await trustWritten(before, file, { ...context, trust })) ?? AGREED) : undefined
  if (context.json) return context.out(JSON.stringify({ project, file, gates: rows }, null, 2))
  for (const line of proposalLines(rows, context)) context.out(line)
  if (rows.length === 0)
    return context.out(
      'No command that builds or checks this project was found. Set one with [gates] in .perpetualcc.toml',
    )
  const where = path === '.' ? '' : ` ${quoteForShell(path)}`
  if (added.length > 0)
    return context.out(
      `Written to ${neutral(file)}. ${neutral(agreed ?? `Look at them, then agree to them with: pcc trust${where}`)}`,
    )
  if (write)
    return context.out(`Nothing to write: ${describeNothingWritten(rows)}. ${neutral(file)} was left as it is.`)
  if (rows.some(({ outcome }) => outcome === 'proposed'))
    context.out(`Write them with: pcc gates detect${where} --write`)
}

const AGREED = 'They check all work from now on. Commit the file with your project.'

/**
 * Agrees to settings that were just written into the file of a project, as `pcc trust` does. The agreement is to these settings: where the
 * project brings in more that waits for it, nothing is agreed to. Returns what is left to do, if anything.
 */
export async function trustWritten(
  before: TrustStatus,
  file: string,
  { paths, trust }: { paths: CommandContext['paths']; trust: typeof import('../../policy/trust/trust.ts') },
): Promise<string | undefined> {
  const { project } = before
  const after = await trust.trustStatus(paths, project)
  const others = trust
    .findChangedPaths(trust.hashesByPath(before.files), trust.hashesByPath(after.files))
    .filter(path => path !== relative(project, file))
  const isSettled = (before.state === 'nothing-to-trust' || before.state === 'trusted') && !before.git
  if (!isSettled || others.length > 0)
    return `The project brings in more than this. Look at it, then: pcc trust ${quoteForShell(project)}`
  const { recordWith } = await import('./accept.ts')
  await trust.grantTrust(paths, after, { record: recordWith(paths) })
  return undefined
}

function describeNothingWritten(rows: readonly { outcome: Outcome }[]): string {
  const leftOut = rows.filter(({ outcome }) => outcome === 'left out').length
  if (leftOut === 0) return 'all of them are set already'
  const which =
    leftOut === rows.length
      ? 'all of them are'
      : `the rest is set already, and ${leftOut} ${leftOut === 1 ? 'is' : 'are'}`
  return `${which} left out for the reason given`
}

function decideOutcome({ caution }: GateProposal, before: unknown, write: boolean): Outcome {
  if (before !== undefined) return 'set already'
  if (caution !== undefined) return 'left out'
  return write ? 'written' : 'proposed'
}

/** Sets only these gates in a project's file; the new text is checked before it replaces the file. */
function proposalLines(
  rows: readonly (GateProposal & { outcome: Outcome; before?: unknown })[],
  { terminal }: CommandContext,
): string[] {
  return rows.flatMap(({ gate, run, from, caution, outcome, before }) => [
    `  ${pad(gate, 10)} ${neutral(run)}  ${terminal.paint('dim', neutral(`${outcome}; ${from}`))}`,
    ...(caution === undefined ? [] : [`             ${terminal.paint('yellow', `careful: ${caution}`)}`]),
    ...(before === undefined || before === run
      ? []
      : [`             ${terminal.paint('dim', neutral(`now: ${before}`))}`]),
  ])
}
