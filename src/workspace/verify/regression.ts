import { lstat, mkdir, readdir, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { shortId } from '../../base/ids.ts'
import type { Finding, TestResult } from '../../domain/evidence.ts'
import type { CommandRunner } from '../command/run-command.ts'
import { git, retryWhileBusy } from '../git/git.ts'
import { committerEnv } from '../git/harden.ts'
import { type GateRun, runGateCommand } from './command-gate.ts'
import type { Profile } from './gate-settings.ts'
import { type GateCheck, gateCheck, statusByFindings, type VerifyDeps } from './request.ts'
import { resultKey } from './result-key.ts'
import { NAME_SEPARATOR, retryableFailures } from './test-results.ts'

/**
 * Compares the tests with those of the base. A test that failed there already is told as such in the gate of the tests, which is
 * given back too. It stands in the way all the same, since the work may have been to mend it, unless a person lets it pass.
 */
export function regressionGate(
  tests: GateCheck,
  base: BaseTests | undefined,
  known: 'block' | 'allow',
): { tests: GateCheck; regression: GateCheck } {
  const skipped = (output: string) => ({ tests, regression: gateCheck({ ...REGRESSION, status: 'skipped', output }) })
  if (tests.tests === null || base?.tests === null) {
    const failsToo = tests.status === 'failed' && base !== undefined && base.exit !== 0
    const note = failsToo ? ' It fails where the work began too.' : ''
    return skipped(`Whole command only: the runner does not tell of single tests.${note}`)
  }
  if (base === undefined) return skipped('Not compared: nobody knows how the tests stood where the work began.')
  const { findings, before, isExcused } = compareTests(base.tests, tests.tests)
  const regression = gateCheck({
    ...REGRESSION,
    status: statusByFindings(findings),
    command: tests.command,
    duration_ms: base.durationMs,
    output: `${base.tests.length} tests where the work began, ${tests.tests.length} now.${base.cached ? ' Known from before.' : ''}`,
    findings,
    cached: base.cached,
  })
  if (tests.status !== 'failed' || base.exit === 0) return { tests, regression }
  const mayPass = isExcused && known === 'allow'
  return { tests: mayPass ? excused(tests, before) : asBefore(tests, before), regression }
}

const REGRESSION = { gate: 'regression', kind: 'regression' } as const

/** Who mends it should know that it is no new failure. */
function asBefore(tests: GateCheck, before: readonly string[]): GateCheck {
  const failing = new Set(before.map(name => `This test fails: ${name}`))
  const findings = tests.findings.map(finding =>
    failing.has(finding.text)
      ? { ...finding, text: `${finding.text} (it failed before the work began, too)` }
      : finding,
  )
  return { ...tests, findings }
}

function excused(tests: GateCheck, before: readonly string[]): GateCheck {
  const own = tests.findings.filter(({ code }) => code !== 'test.failed' && code !== 'test.failing')
  const notes = before.map(
    (name): Finding => ({ code: 'test.failed_before', weight: 'note', text: `Fails as it did before: ${name}` }),
  )
  const findings = [...own, ...notes]
  return { ...tests, status: statusByFindings(findings), findings }
}

/** How the tests of some work stand against those of its base. */
export interface TestComparison {
  findings: Finding[]
  /** Tests that fail, and failed before. */
  before: string[]
  /** Nothing fails that did not fail before. */
  isExcused: boolean
}

const MOST_TOLD = 20

/** What passed must pass, what is gone is told, and what failed already does not count against the work. */
export function compareTests(base: readonly TestResult[], now: readonly TestResult[]): TestComparison {
  const was = new Map(base.map(({ name, status }) => [name, status]))
  const is = new Map(now.map(({ name, status }) => [name, status]))
  const parents = new Set(now.flatMap(({ name }) => above(name)))
  const passedBefore = base.filter(({ status }) => status === 'passed' || status === 'flaky').map(({ name }) => name)
  const failing = retryableFailures(now)
  const before = failing.filter(name => was.get(name) === 'failed')
  const passed = new Set(passedBefore)
  const broken = failing.filter(
    name => was.get(name) !== 'failed' && [name, ...above(name)].some(each => passed.has(each)),
  )
  const skipped = passedBefore.filter(name => is.get(name) === 'skipped')
  const gone = passedBefore.filter(name => !is.has(name) && !isInsideOne(name, is, parents))
  const fresh = now.filter(({ name, status }) => status !== 'skipped' && !was.has(name))
  return {
    findings: [
      ...capFindings('regression.broken', broken, name => `This test passed before the work and fails now: ${name}`),
      ...capFindings(
        'regression.skipped',
        skipped,
        name => `This test passed before the work and is skipped now: ${name}`,
      ),
      ...goneFindings(gone, fresh.length),
    ],
    before,
    isExcused: failing.length > 0 && failing.length === before.length,
  }
}

/** One that got another name comes with a new one: only where fewer came than went does it stand in the way. */
function goneFindings(gone: readonly string[], fresh: number): Finding[] {
  const weight = gone.length > fresh ? 'block' : 'note'
  return capFindings(
    'regression.gone',
    gone,
    name => `This test passed before the work and is not there any more: ${name}`,
    weight,
  )
}

function capFindings(
  code: string,
  names: readonly string[],
  text: (name: string) => string,
  weight: Finding['weight'] = 'block',
): Finding[] {
  const rest = names.length - MOST_TOLD
  return [
    ...names.slice(0, MOST_TOLD).map(name => ({ code, weight, text: text(name) })),
    ...(rest > 0 ? [{ code, weight, text: `And ${rest} more.` }] : []),
  ]
}

/** Whether something above it is told in one word: nothing below that is listed. */
function isInsideOne(
  name: string,
  is: ReadonlyMap<string, TestResult['status']>,
  parents: ReadonlySet<string>,
): boolean {
  return above(name).some(each => is.has(each) && !parents.has(each))
}

/** The file and the groups that a test is in. */
function above(name: string): string[] {
  const parts = name.split(NAME_SEPARATOR)
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join(NAME_SEPARATOR))
}

/** What the tests came to where the work began. */
interface BaseTests {
  exit: number | null
  /** Null where the runner tells no single tests. */
  tests: TestResult[] | null
  /** It was known already. */
  cached: boolean
  durationMs: number
}

export interface BaseRequest {
  work: WorkStart
  run: GateRun
  base: Profile['base']
}

type BaseTestsDeps = Pick<VerifyDeps, 'store' | 'clock' | 'paths'> & { runner: CommandRunner }

/**
 * How the tests stand at the base. A result that is known will do, green or not: it is a list to compare with and lets nothing
 * pass by itself; a tree that was verified before it became the base is known. Otherwise they are run, in a checkout of their
 * own; undefined where nobody wants that, or it cannot be done.
 */
export async function runBaseTests(
  { work, run, base }: BaseRequest,
  parts: BaseTestsDeps,
): Promise<BaseTests | undefined> {
  const named = await git(work.top, ['rev-parse', '--verify', '--quiet', `${work.base}^{tree}`])
  if (!named.ok) return undefined
  const tree = named.stdout.trim()
  const inside = relative(work.top, work.directory)
  const of = { tree, command: run.command, inside, directory: run.directory, env: run.env }
  const keys = { gate: resultKey({ ...of, purpose: 'gate' }), base: resultKey({ ...of, purpose: 'base' }) }
  if (base !== 'anew') {
    const known = (await parts.store.gateResults.get(keys.gate)) ?? (await parts.store.gateResults.get(keys.base))
    if (known) return { exit: known.exit, tests: known.tests, cached: true, durationMs: 0 }
    if (base === 'known') return undefined
  }
  await using checkout = await openBaseCheckout(work, parts.paths.run, run.signal)
  if (!checkout) return undefined
  const ran = await runGateCommand({ ...run, directory: checkout.directory }, parts.runner)
  if (ran.end !== 'exited' || ran.exit === null) return undefined
  const { exit, output, tests, durationMs } = ran
  const kept = { key: keys.base, tree, command: run.command, exit, duration_ms: durationMs, output, tests }
  await parts.store.gateResults.put({ ...kept, created_at: parts.clock.now() })
  return { exit, tests, cached: false, durationMs }
}

/** What installers fill and git ignores: the base is run with what the work is run with. */
const DEPENDENCIES = new Set(['node_modules', 'vendor', '.venv', 'venv', 'deps'])

export interface BaseCheckout extends AsyncDisposable {
  /** The folder that the project is of its repository. */
  directory: string
}

/** Takes away what a daemon that died left of such checkouts, and what their repositories have noted of them. */
export async function removeBaseCheckouts(runDir: string): Promise<void> {
  const folder = join(runDir, BASES_FOLDER)
  for (const name of await readdir(folder).catch(() => [])) {
    const top = join(folder, name)
    const { ok, stdout } = await git(top, ['rev-parse', '--path-format=absolute', '--git-common-dir'])
    if (ok) await git(stdout.trim(), ['worktree', 'remove', '--force', '--force', top])
  }
  await rm(folder, { recursive: true, force: true })
}

const BASES_FOLDER = 'bases'

/** A checkout, and from where the work in it began. */
export interface WorkStart {
  top: string
  directory: string
  /** A commit, or in a project that is worked in itself the tree that it held. */
  base: string
}

/** Takes out what work began with into a worktree of its own, for as long as it is looked at. */
export async function openBaseCheckout(
  work: WorkStart,
  runDir: string,
  signal: AbortSignal,
): Promise<BaseCheckout | undefined> {
  const commit = await commitOf(work)
  if (commit === undefined) return undefined
  const top = join(runDir, BASES_FOLDER, shortId('base'))
  await mkdir(dirname(top), { recursive: true, mode: 0o700 })
  const close = async () => {
    await git(work.top, ['worktree', 'remove', '--force', '--force', top])
    await rm(top, { recursive: true, force: true })
    await git(work.top, ['worktree', 'prune'])
  }
  const add = ['worktree', 'add', '--quiet', '--detach', top, commit]
  const added = await retryWhileBusy(() => git(work.top, add, { signal }), { signal })
  if (!added.ok) {
    await close()
    return undefined
  }
  await linkDependencies(work.top, top)
  return { directory: join(top, relative(work.top, work.directory)), [Symbol.asyncDispose]: close }
}

/** A tree gets a commit that nothing points at: git takes only those out, and forgets it in time. */
async function commitOf({ top, base }: WorkStart): Promise<string | undefined> {
  const known = await git(top, ['rev-parse', '--verify', '--quiet', `${base}^{commit}`])
  if (known.ok) return known.stdout.trim()
  const env = await committerEnv(top)
  const made = await git(top, ['commit-tree', base, '-m', 'what a project held when work began in it'], { env })
  return made.ok ? made.stdout.trim() : undefined
}

async function linkDependencies(from: string, to: string): Promise<void> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const { stdout } = await git(from, args)
  const folders = stdout.split('\0').filter(path => path.endsWith('/') && DEPENDENCIES.has(basename(path)))
  for (const folder of folders.map(path => path.slice(0, -1))) {
    const there = await lstat(join(to, dirname(folder))).catch(() => undefined)
    // Where the base has no such folder, or has files of its own there, the work's are none of its business.
    if (there?.isDirectory()) await symlink(join(from, folder), join(to, folder)).catch(() => undefined)
  }
}
