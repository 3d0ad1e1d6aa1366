import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundledProgram } from '../../agents/claude/bundled-program.ts'
import { wakeTime } from '../../base/clock.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { quoteForShell } from '../../base/words.ts'
import { readDiskReport } from '../../daemon/disk.ts'
import { accountOf } from '../../domain/account.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { findManifest } from '../../domain/agents/find-manifest.ts'
import { type BudgetScope, type BudgetView, MEASURES, overrunWords, raiseCommand } from '../../domain/budget.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import type { NeedsReply } from '../../domain/escalation.ts'
import { type AccountGate, faultOf } from '../../domain/limit.ts'
import { FAILED_BEFORE_KEY } from '../../domain/option-values.ts'
import type { QuotaView } from '../../domain/quota.ts'
import { loginFolder, vendorOf } from '../../domain/vendors.ts'
import { describeNetwork, planSandbox, sandboxProblems, UNBOUNDED } from '../../workspace/command/plan-sandbox.ts'
import { findGitOperation, readCheckoutStatus } from '../../workspace/git/checkout-state.ts'
import { git } from '../../workspace/git/git.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'
import { askGitLine } from '../../workspace/git/refs.ts'
import { PROFILES, readGateSettings } from '../../workspace/verify/gate-settings.ts'
import { findUnchecked, type Unchecked } from '../../workspace/verify/unchecked.ts'
import type { DaemonConnection } from '../connection/connection.ts'
import type { CommandContext } from '../context.ts'
import { firstLine } from '../render/text.ts'

/** What a command is about to begin. */
export interface PreflightRequest {
  project: string
  /** The environment of the agent. */
  env: Record<string, string>
  /** The value of `--agent`. */
  agent?: string | undefined
  /** Whether finished work is to be verified; without a word from the person, the setting says it. */
  verify?: boolean | undefined
  /** Whether it is merged into a branch. */
  merges: boolean
  client: DaemonConnection
  context: CommandContext
  /** The settings, where they were loaded already. */
  loaded?: LoadedConfig | undefined
  /** Whether a person at the terminal is asked to mend it now. */
  offers: boolean
}

/** What is not right, shown like a finding of `pcc doctor`. The work begins all the same: what it needs then is waited for, and listed by `pcc pending`. */
export interface PreflightRow {
  area: string
  says: string
  /** What helps, in one line. A row without it reports that all is right, and is shown at a terminal only. */
  fix?: string
  /** The command that a person may have run at once: of `pcc`, or of another program. */
  command?: OfferedCommand
  /** A second command that is run after the first, with the same yes. */
  followUp?: OfferedCommand
  /** It changes work of the person that may be half done, so Enter alone is no yes. */
  isTheirs?: true
}

export type OfferedCommand = readonly [program: 'pcc' | 'git', ...args: string[]]

interface PreflightFacts extends PreflightRequest {
  loaded: LoadedConfig
  verify: boolean
  /** The agent that the work begins with, and its kind. */
  chosen: AgentChoice
  kind: string
}

/** Looks at one thing. It is quick, because nothing begins before it: it starts no agent and asks no vendor. */
type PreflightCheck = (facts: PreflightFacts) => PreflightRow[] | Promise<PreflightRow[]>

/** What is looked at before work begins, by the names in which a person reads that all of it is ready. */
export const PREFLIGHT_CHECKS: Readonly<Record<string, readonly PreflightCheck[]>> = {
  agent: [checkAgentProgram],
  login: [checkLogin],
  account: [checkAccount],
  budgets: [checkBudgets],
  checkout: [checkCheckout],
  checks: [checkTrust, checkCommands, checkFailedBefore],
  sandbox: [checkSandbox],
  disk: [checkDisk],
}

/** Whether the program that would be started is there. It is not started. */
function checkAgentProgram({ chosen, env, loaded: { config } }: PreflightFacts): PreflightRow[] {
  const { name, speaks, start } = findManifest(chosen)
  const isBundled = speaks === 'sdk' && !chosen.command
  const own = isBundled ? config.agents.path : (chosen.command?.[0] ?? start.command)
  if (own === undefined) return isBundledThere() ? [] : [missingProgram(name, start.install)]
  if (findProgram(own, env)) return []
  const fix = isBundled ? `${own} cannot be run; pcc config reset agents.path` : start.install
  return [missingProgram(name, fix)]
}

function isBundledThere(): boolean {
  try {
    return existsSync(bundledProgram())
  } catch {
    return false
  }
}

function missingProgram(name: string, fix: string): PreflightRow {
  return { area: 'agent', says: `the program of ${name} is not there; nothing can begin without it`, fix }
}

/** Only whether there is a login: no file is read for its content, and `pcc doctor` asks the agent itself. */
function checkLogin({ kind, env }: PreflightFacts): PreflightRow[] {
  if (findLogin(kind, env)) return []
  const vendor = vendorOf(kind)
  const names = vendor.credentials.map(([name]) => name).join(' or ')
  const fix = `${vendor.login.command || 'Log in with the agent itself'}, or set ${names}`
  const says = `no login and no key of ${kind} found; work waits until there is one`
  return [{ area: 'login', says, fix, ...loginOffer(kind) }]
}

function loginOffer(kind: string): Pick<PreflightRow, 'command'> {
  return vendorOf(kind).login.command === 'pcc agents login' ? { command: ['pcc', 'agents', 'login'] } : {}
}

/** Whether the daemon knows that the account of this shell may not be used now. Another key is another account. */
async function checkAccount(facts: PreflightFacts): Promise<PreflightRow[]> {
  const { client, chosen, env } = facts
  const { accounts, at, hold } = await client.request<QuotaView>('GET', '/quota')
  if (hold) {
    const release = ['pcc', 'quota', 'release'] as const
    return [
      { area: 'account', says: 'you hold all of them back; work waits', fix: release.join(' '), command: release },
    ]
  }
  const own = accountOf(chosen, env)
  return accounts.flatMap(({ account, gate, level, eases_at }): PreflightRow[] => {
    if (account !== own) return []
    const ref = account.slice(0, 6)
    const release = ['pcc', 'quota', 'release', '--account', ref] as const
    if (gate?.held)
      return [{ area: 'account', says: 'you hold it back; work waits', fix: release.join(' '), command: release }]
    if (gate && faultOf(gate)) return isMissingLogin(gate, facts) ? [] : [describeFault(gate, facts)]
    if (gate?.closed_until != null && gate.closed_until > at) {
      const says = `a limit closes it until ${wakeTime(gate.closed_until, at)}; work waits until then`
      return [{ area: 'quota', says, fix: `pcc quota release --account ${ref} --now, if the limit is over` }]
    }
    if (level !== 'critical') return []
    const until = eases_at === null ? '' : ` until ${wakeTime(eases_at, at)}`
    return [{ area: 'quota', says: `its allowance is nearly used up${until}`, fix: 'pcc quota' }]
  })
}

/** The check of the login says it, without the work that met the fault. */
function isMissingLogin(gate: AccountGate, { kind, env }: PreflightFacts): boolean {
  return faultOf(gate) === 'login' && !findLogin(kind, env)
}

/** The work that met the fault may be over by now, so its own remedy is not repeated here. */
function describeFault(gate: AccountGate, { kind, env }: PreflightFacts): PreflightRow {
  const [says = '', remedy = 'pcc doctor'] = (gate.reason ?? '').split('\n')
  const row = { area: 'account', says: `at its last use: ${says}` }
  const login = findLogin(kind, env)
  if (!login || faultOf(gate) !== 'login') return { ...row, fix: remedy }
  if (login.by === 'variable')
    return {
      ...row,
      fix: `export ${login.name}=<new ${login.name.endsWith('TOKEN') ? 'token' : 'key'}>, then run this again`,
    }
  return { ...row, fix: vendorOf(kind).login.command || 'Log in with the agent itself', ...loginOffer(kind) }
}

/** Budgets that are spent already, so that no task begins before they are raised or count anew. */
async function checkBudgets({ client, project, loaded: { config } }: PreflightFacts): Promise<PreflightRow[]> {
  const query = `?project=${encodeURIComponent(project)}`
  const { scopes } = await client.request<BudgetView>('GET', `/budget${query}`)
  return scopes.flatMap(({ scope, spent }): PreflightRow[] => {
    const ends = BUDGET_ENDS[scope]
    if (!ends) return []
    const limits = config.budgets[scope]
    const uses = MEASURES.map(measure => ({
      scope,
      measure,
      spent: spent[measure],
      limit: limits[measure] ?? Infinity,
    }))
    const use = uses.find(({ spent, limit }) => spent >= limit)
    if (!use) return []
    const or = ends.or?.(project) ?? ''
    const says = `${overrunWords(use)}: work waits until ${ends.until}`
    return [{ area: 'budget', says, fix: `${raiseCommand(use)}${or}` }]
  })
}

/** What ends the wait for a budget that keeps work from beginning; undefined for those of work that has begun. */
const BUDGET_ENDS: Record<BudgetScope, { until: string; or?: (project: string) => string } | undefined> = {
  task: undefined,
  session: undefined,
  day: { until: 'it is raised, or until tomorrow' },
  project: { until: 'it is raised', or: project => `, or pcc budget reset ${quoteForShell(project)}` },
}

async function checkCheckout({ project, merges, loaded }: PreflightFacts): Promise<PreflightRow[]> {
  if (!merges || !(await findGitFolder(project))) return []
  const { target } = loaded.config.merge
  if (
    target !== undefined &&
    (await askGitLine(project, ['rev-parse', '--verify', '-q', `refs/heads/${target}`])) === undefined
  ) {
    const says = `there is no branch ${firstLine(target)} to merge into (merge.target)`
    return [{ area: 'branch', says, fix: `git branch ${quoteForShell(target)}`, command: ['git', 'branch', target] }]
  }
  const [status, operation] = await Promise.all([readCheckoutStatus(project, 'no'), findGitOperation(project)])
  if (typeof status === 'string') return []
  if (status.commit === undefined) return [await describeUnborn(project)]
  if (operation) {
    const says = `a ${operation.kind} is under way: nothing is merged before it is over`
    return [{ area: 'checkout', says, fix: 'Finish it, or abort it.' }]
  }
  const rows: PreflightRow[] =
    status.branch === undefined && target === undefined ? [await describeDetached(project)] : []
  const { loose } = status
  // No merge touches the files of this checkout then.
  const isApart = loaded.config.merge.mode !== 'auto' || (target !== undefined && target !== status.branch)
  if (loose.length === 0 || isApart) return rows
  const some = `${loose.slice(0, 3).join(', ')}${loose.length > 3 ? ` and ${loose.length - 3} more` : ''}`
  const says = `not committed: ${firstLine(some)}. Work that changes the same files is merged when they are committed`
  return [...rows, { area: 'checkout', says, ...(await offerToCommit(project, loose)) }]
}

/** More files than this are not named one by one. */
const MOST_NAMED = 20
/** What `pcc init` writes: git does not know it before it is added. */
const SET_UP_FILES = ['.perpetualcc.toml', '.claude']

/** Commits the changed files, and what `pcc init` wrote: nothing else that git does not know. */
async function offerToCommit(
  project: string,
  loose: readonly string[],
): Promise<Pick<PreflightRow, 'fix' | 'command' | 'followUp' | 'isTheirs'>> {
  const untracked = ['ls-files', '--others', '--exclude-standard', '--directory', '-z', '--', ...SET_UP_FILES]
  const written = (await git(project, untracked)).stdout.split('\0').filter(path => path !== '')
  // Git names changed files from the top of the repository.
  const changed = existsSync(join(project, '.git')) ? loose : loose.map(path => `:/${path}`)
  const areMany = loose.length > MOST_NAMED
  const added = areMany ? written : [...changed, ...written]
  const add: OfferedCommand = ['git', 'add', '--', ...added]
  const commit: OfferedCommand = ['git', 'commit', ...(areMany ? ['--all'] : []), '-m', 'Changes before pcc works']
  const commands = added.length > 0 ? [add, commit] : [commit]
  const fix = `${commands.map(words => words.map(quoteForShell).join(' ')).join(' && ')}, or git stash`
  return { fix, isTheirs: true, ...(added.length > 0 ? { command: add, followUp: commit } : { command: commit }) }
}

/** A worktree holds what is committed, so files that are there already belong to the first commit. */
async function describeUnborn(project: string): Promise<PreflightRow> {
  const says =
    'the repository has no commit yet: tasks work in the project itself, one at a time, and nothing is merged'
  const status = await readCheckoutStatus(project, 'all')
  const hasFiles = typeof status !== 'string' && status.loose.length > 0
  const commit = ['git', 'commit', ...(hasFiles ? [] : ['--allow-empty']), '-m', 'First commit'] as const
  const fix = commit.map(quoteForShell).join(' ')
  if (!hasFiles) return { area: 'branch', says, fix, command: commit }
  return { area: 'branch', says, fix: `git add --all && ${fix}`, command: ['git', 'add', '--all'], followUp: commit }
}

async function describeDetached(project: string): Promise<PreflightRow> {
  const says = 'HEAD is on no branch, so there is nothing to merge into; work waits until it is on one'
  const refs = ['--count=1', '--points-at=HEAD', '--format=%(refname:short)', 'refs/heads']
  const branch = await askGitLine(project, ['for-each-ref', ...refs])
  if (!branch) return { area: 'branch', says, fix: 'git switch <branch>, or git switch -c <new branch>' }
  return { area: 'branch', says, fix: `git switch ${quoteForShell(branch)}`, command: ['git', 'switch', branch] }
}

async function checkTrust({ loaded, project, merges, verify }: PreflightFacts): Promise<PreflightRow[]> {
  const { untrusted } = loaded
  if (untrusted.length === 0) return []
  const unchecked = merges && verify ? await findUnchecked(loaded, project) : undefined
  const effect = unchecked ? unprovenEffect(loaded, 'untrusted') : ''
  const says = `left out until you agree: ${untrusted.slice(0, 6).join(', ')}${untrusted.length > 6 ? ' …' : ''}${effect}`
  return [{ area: 'trust', says, fix: `pcc trust ${quoteForShell(project)}`, command: ['pcc', 'trust', project] }]
}

async function checkCommands(facts: PreflightFacts): Promise<PreflightRow[]> {
  const { loaded, merges, verify, project } = facts
  const unchecked = merges && verify ? await findUnchecked(loaded, project) : undefined
  if (merges && verify && !unchecked) return checkGatePrograms(facts)
  if (!unchecked || unchecked.why === 'untrusted') return [] // said by the check of trust
  const { why, says, fix } = unchecked
  const hasGit = (await findGitFolder(project)) !== undefined
  const row = { area: 'checks', says: `${says}${unprovenEffect(loaded, why, hasGit)}`, fix }
  if (why === 'none' || loaded.config.gates.unproven === 'allow') return [row]
  return [{ ...row, command: ['pcc', 'gates', 'detect', project, '--write', '--trust'] }]
}

/** Whether finished work waits already because tests fail that failed before it. They are not run here, which may take long. */
async function checkFailedBefore({ client, project, merges, verify }: PreflightFacts): Promise<PreflightRow[]> {
  if (!merges || !verify) return []
  const { needs } = await client.request<NeedsReply>('GET', `/needs?project=${encodeURIComponent(project)}`)
  return needs.flatMap(({ key, next }): PreflightRow[] => {
    if (!key.startsWith(FAILED_BEFORE_KEY)) return []
    const says = `tests fail before any work: ${firstLine(key.slice(key.lastIndexOf(': ') + 2))}. Work that leaves them red waits for you`
    return [{ area: 'checks', says, fix: `${next}, or let the first task mend them` }]
  })
}

/** A command whose program is not there checks nothing: every task of the night would wait for a person because of it. */
function checkGatePrograms({ loaded: { config, origin }, env }: PreflightFacts): PreflightRow[] {
  const { profile, commands } = readGateSettings(config)
  return PROFILES[profile].commands.flatMap(name => {
    const command = commands[name]
    const program = command === undefined ? undefined : programIn(command)
    if (program === undefined || findProgram(program, env)) return []
    const says = `${name} cannot run: ${firstLine(program)} is not on the PATH (${firstLine(command ?? '')}). Finished work waits until it can`
    return [{ area: 'checks', says, fix: `Install ${program}, or change gates.${name} (${origin(`gates.${name}`)})` }]
  })
}

/** The program that a command starts with, behind variables and a `cd`; undefined where only the shell can tell. */
function programIn(command: string): string | undefined {
  const [, word] =
    /^\s*\(?\s*(?:cd [\w./-]+ && )?(?:[A-Za-z_]\w*=[\w./-]* )*([A-Za-z][\w.+-]*)(?=[\s);]|$)/.exec(command) ?? []
  return word === undefined || SHELL_WORDS.has(word) ? undefined : word
}

const SHELL_WORDS = new Set(
  'alias break case cd command continue declare eval exec exit export for function hash if let local read return set shift source time trap type typeset ulimit umask unset until wait while'.split(
    ' ',
  ),
)

/** What becomes of work that no command checks. Without git nothing shows a verifier what was changed. */
function unprovenEffect({ config: { gates } }: LoadedConfig, why: Unchecked['why'], hasGit = true): string {
  if (gates.unproven === 'allow') return why === 'untrusted' ? '' : ', so nothing proves that a task is done'
  const isJudged = hasGit && (gates.verifier === 'on' || (gates.verifier === 'auto' && gates.profile !== 'quick'))
  if (why === 'none') return isJudged ? '; a verifier judges the work' : '; each task waits for your review'
  return '; until then work stays unverified on its branch and is not merged'
}

async function checkSandbox({ loaded: { config }, project, chosen, context }: PreflightFacts): Promise<PreflightRow[]> {
  const home = context.env['HOME'] ?? '/'
  const subject = { name: 'An agent', asksEveryCall: true, project, home, paths: context.paths }
  const [area, plan] = ['sandbox', await planSandbox(config, subject)]
  if (config.agents.sandbox === 'off') return [{ area, says: UNBOUNDED, fix: 'pcc config set agents.sandbox auto' }]
  const network = describeNetwork(config.agents.network, findManifest(chosen).hold === 'every-call')
  const rows = sandboxProblems(plan).map(row => ({ area, ...row }))
  return plan.settings ? [...rows, { area, says: `on; network: ${network}` }] : rows
}

function checkDisk({ loaded, context: { paths } }: PreflightFacts): PreflightRow[] {
  const folder = [paths.data, paths.home, dirname(paths.home)].find(path => existsSync(path))
  if (folder === undefined) return []
  const { state, reason } = readDiskReport(folder, loaded.config.data.min_free_mb)
  return state === 'ok' ? [] : [{ area: 'disk', says: reason, fix: 'Free some space.' }]
}

/**
 * Where an agent has its login from: a variable, its own file, or another place that only the agent can look into. Undefined if there
 * is none. Nothing is started, and no content of a login is read.
 */
export function findLogin(
  kind: string,
  env: Record<string, string>,
): { by: 'variable' | 'file' | 'elsewhere'; name: string } | undefined {
  const vendor = vendorOf(kind)
  const variable = vendor.credentials.find(([name]) => env[name])?.[0]
  if (variable !== undefined) return { by: 'variable', name: variable }
  const cloud = Object.keys(env).find(name => /_USE_(BEDROCK|VERTEX|FOUNDRY)/.test(name))
  if (cloud !== undefined) return { by: 'elsewhere', name: cloud }
  const folder = loginFolder(vendor, env)
  if (folder === undefined) return { by: 'elsewhere', name: 'a place of its own' }
  const file = join(folder, vendor.login.file)
  if (existsSync(file)) return { by: 'file', name: file }
  if (hasKeyHelper(folder)) return { by: 'elsewhere', name: 'apiKeyHelper' }
  return process.platform === 'darwin' ? { by: 'elsewhere', name: 'the keychain' } : undefined
}

function hasKeyHelper(folder: string): boolean {
  const file = join(folder, 'settings.json')
  return existsSync(file) && readFileSync(file, 'utf8').includes('"apiKeyHelper"')
}
