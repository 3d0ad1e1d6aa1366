import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { hookTranslator } from '../../../agents/hooks/vendors.ts'
import { AppError, messageOf } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import { quoteForShell } from '../../../base/words.ts'
import { findProjectFile, readConfigFile } from '../../../domain/config/layers.ts'
import { loadConfig } from '../../../domain/config/load.ts'
import type { HookVendor } from '../../../domain/hooks.ts'
import { MODEL_STRATEGIES, type ModelStrategy } from '../../../domain/option-values.ts'
import type { ProjectFacts } from '../../../domain/project-facts.ts'
import type { ImportedTask } from '../../../domain/task-requests.ts'
import { detectProject, proposeGateCommands } from '../../../workspace/detect/detect-project.ts'
import { openProjectReader } from '../../../workspace/detect/project-files.ts'
import { readCheckoutStatus } from '../../../workspace/git/checkout-state.ts'
import { git } from '../../../workspace/git/git.ts'
import { committerEnv } from '../../../workspace/git/harden.ts'
import { type CommandContext, ExitCode, isInteractive } from '../../context.ts'
import { agrees, chooseOne, confirm, INTERRUPTED } from '../../input.ts'
import { refuseInSession } from '../../options.ts'
import type { IndexedCode } from '../code/index-code.ts'
import { readInstalled } from '../hooks/record.ts'
import { findVendors } from '../hooks/vendor-files.ts'
import { applySteps, type InitStep, planSteps } from './files.ts'
import { type InitOutcome, initEnd, initPage, outcomeJson, type TakenTasks } from './page.ts'
import { FOLDER_README, FOLDERS, STRATEGY_WORDS, settingsText, skillFiles } from './texts.ts'

/** The options of `pcc init`. */
export interface InitOptions {
  requirements?: string
  skipIndex?: true
  dryRun?: true
  force?: true
}

export interface InitCall {
  path: string
  options: InitOptions
  context: CommandContext
}

/** Examines a project, writes what is missing, imports the tasks of a file, and says what it did and what comes next. */
export async function initProject({ path, options, context }: InitCall): Promise<void> {
  refuseInSession(context.env, 'init …')
  const project = projectPath(path, { env: context.env, force: options.force === true })
  // An invalid requirements file is refused before anything is written.
  const wanted = await readWantedTasks(options.requirements)
  const facts = await showProgress('Examining the project', context, () =>
    detectProject(openProjectReader(project), project),
  )
  const settings = await checkSettings(project, facts, context.env['HOME'])
  const dryRun = options.dryRun === true
  const isNew = settings.above === undefined && !existsSync(join(project, SETTINGS_FILE))
  const isAsked = isNew && !dryRun && isInteractive(context)
  const strategy = isAsked ? await askStrategy(context) : readStrategy(project)
  const steps = planProject(project, { facts, above: settings.above, strategy })
  const loose = dryRun || !facts.git ? [] : await readLoose(project, facts.git.top)
  if (!dryRun) applySteps(project, steps)
  const written = dryRun || !facts.git ? [] : listWritten(steps, loose)
  const offersCommit = written.length > 0 && isInteractive(context)
  const unjudged = dryRun ? [] : listUnjudged(context)
  const offersHooks = unjudged.length > 0 && isInteractive(context)

  const remarks = [
    ...settings.remarks,
    ...factRemarks(facts),
    ...gateRemarks(facts, steps),
    ...(isAsked && strategy !== undefined
      ? [`The strategy ${strategy} applies here once you agree with pcc trust.`]
      : []),
    ...(written.length > 0 && !offersCommit ? [commitRemark(written)] : []),
    ...(unjudged.length > 0 && !offersHooks ? [hooksRemark(unjudged)] : []),
  ]
  const outcome: InitOutcome = { project, given: path, dryRun, facts, steps, remarks }
  if (!context.json) print(context, initPage(outcome, context.terminal))
  if (offersCommit) print(context, [await offerCommit(project, written)])
  if (offersHooks) await offerHooks(unjudged, context)
  // Nobody knows where a folder outside of git ends: pcc index reads it all the same.
  const isIndexed = facts.git !== undefined && !dryRun && !options.skipIndex
  const index = isIndexed ? await indexProject(project, context) : undefined
  if (index && !context.json) print(context, [...(await describeIndex(index, context)), ''])
  const tasks = wanted && (await importTasks(wanted, { project, dryRun, context }))
  if (!dryRun && isInteractive(context)) await offerService(context)
  if (context.json) print(context, [JSON.stringify({ ...outcomeJson(outcome, tasks), index: index ?? null }, null, 2)])
  else print(context, initEnd(outcome, tasks, context.terminal))
}

const SETTINGS_FILE = '.perpetualcc.toml'

/** The strategy that was chosen before: what pcc has written itself is written anew, and must not lose it. */
function readStrategy(project: string): ModelStrategy | undefined {
  const file = join(project, SETTINGS_FILE)
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const chosen = /^model_strategy = "([a-z-]+)"$/m.exec(text)?.[1]
  return MODEL_STRATEGIES.find(strategy => strategy === chosen)
}

/** Asks which models runs use here; undefined for the default. */
async function askStrategy({ note }: CommandContext): Promise<ModelStrategy | undefined> {
  const choices = Object.entries(STRATEGY_WORDS) as [ModelStrategy, string][]
  const texts = choices.map(([name, words]) => `${name}: ${words}`)
  const chosen = await chooseOne('Which model shall the tasks of "pcc run" go to?', texts)
  note(`Chosen: ${choices[chosen]?.[0]}`)
  return chosen === 0 ? undefined : choices[chosen]?.[0]
}

interface ProjectPlan {
  facts: ProjectFacts
  /** A settings file further up that applies. */
  above: string | undefined
  /** The strategy that a person chose. */
  strategy: ModelStrategy | undefined
}

function planProject(project: string, { facts, above, strategy }: ProjectPlan): InitStep[] {
  const settings = { path: '.perpetualcc.toml', content: settingsText(facts, strategy) }
  const leftSettings: InitStep[] =
    above === undefined ? [] : [{ path: settings.path, does: 'leave', why: `${above} applies here` }]
  const entries = [...(above === undefined ? [settings] : []), FOLDER_README, ...FOLDERS, ...skillFiles(facts)]
  return [...leftSettings, ...planSteps(project, { entries, ignore: facts.git !== undefined })]
}

/** A remark about gates that were just written: they need a person's agreement. */
function gateRemarks({ commands }: ProjectFacts, steps: readonly InitStep[]): string[] {
  const isNew = steps.some(({ path, does }) => path === '.perpetualcc.toml' && does === 'create')
  const gates = proposeGateCommands(commands).filter(({ caution }) => caution === undefined)
  if (!isNew || gates.length === 0) return []
  const names = gates.map(({ gate }) => gate).join(', ')
  const then = gates.some(({ gate }) => gate === 'test') ? ' Then pcc gates run shows what fails before any work.' : ''
  return [
    `The gates in .perpetualcc.toml (${names}) run code of this project: check them, then agree with pcc trust.${then}`,
  ]
}

/** The paths that a person had changed before, relative to the project. They are not committed. */
async function readLoose(project: string, top: string): Promise<string[]> {
  const status = await readCheckoutStatus(project, 'all')
  return typeof status === 'string' ? [] : status.loose.map(path => relative(project, join(top, path)))
}

/** The files that were written and that a person had not changed before. */
function listWritten(steps: readonly InitStep[], loose: readonly string[]): string[] {
  const files = steps.filter(({ path, does }) => (does === 'create' || does === 'change') && !path.endsWith('/'))
  return files.map(({ path }) => path).filter(path => !loose.includes(path))
}

const COMMIT_MESSAGE = 'Set up pcc'

/** Agents work in worktrees, which hold only what is committed. */
function commitRemark(files: readonly string[]): string {
  const paths = files.map(quoteForShell).join(' ')
  return `Commit these, so that the worktrees of tasks have them: git add ${paths} && git commit -m "${COMMIT_MESSAGE}" -- ${paths}`
}

/** Asks whether to commit what was written, and nothing else; says how where the answer is no or git refuses. */
async function offerCommit(project: string, files: readonly string[]): Promise<string> {
  if (!(await agrees(`Commit ${files.length === 1 ? 'this file' : `these ${files.length} files`} now?`)))
    return commitRemark(files)
  const env = await committerEnv(project)
  const added = await git(project, ['add', '--', ...files], { env })
  const done = added.ok ? await git(project, ['commit', '-q', '-m', COMMIT_MESSAGE, '--', ...files], { env }) : added
  return done.ok ? `Committed: ${COMMIT_MESSAGE}` : `git refused: ${done.stderr.trim()}. ${commitRemark(files)}`
}

/** The agents on this machine that a person may start without pcc, and that have no hooks of pcc. */
function listUnjudged({ env, paths }: CommandContext): HookVendor[] {
  const installed = readInstalled(paths).files.filter(({ scope }) => scope === 'user')
  return findVendors(env).filter(vendor => !installed.some(file => file.vendor === vendor))
}

function hooksRemark(vendors: readonly HookVendor[]): string {
  return `pcc does not judge the calls of ${agentNames(vendors)} where you start them yourself. To let it: pcc hooks install`
}

function agentNames(vendors: readonly HookVendor[]): string {
  const names = vendors.map(vendor => hookTranslator(vendor).manifest.name)
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter(Boolean).join(' and ')
}

/** The settings of agents change only after a second yes, to the difference. A no there, or a file that cannot be changed, does not stop the rest. */
async function offerHooks(vendors: HookVendor[], context: CommandContext): Promise<void> {
  const question = `Let pcc also judge the calls of ${agentNames(vendors)} where you start them yourself? The change is shown first.`
  if (!(await agrees(question))) return print(context, [hooksRemark(vendors)])
  const { installHooks } = await import('../hooks/install.ts')
  try {
    await installHooks({ vendors, scope: 'user', yes: false, http: false }, context)
  } catch (error) {
    const isInterrupted = error instanceof ExitCode && error.code === INTERRUPTED
    if (isInterrupted || !(error instanceof AppError || error instanceof ExitCode)) throw error
    print(context, [hooksRemark(vendors)])
  }
}

/** Asks once for an installation, and only where a service can be installed; what goes wrong does not stop the rest. */
async function offerService(context: CommandContext): Promise<void> {
  const [{ findService, locateUnit }, { requireManager }] = await Promise.all([
    import('../service/service-unit.ts'),
    import('../service/systemctl.ts'),
  ])
  const { paths, env } = context
  if (findService(paths, { env })) return
  try {
    await requireManager(locateUnit(paths, { env, scope: 'user' }), env)
  } catch {
    return // there is no service manager here, which pcc service install explains
  }
  const hint = 'To start the daemon with the machine: pcc service install'
  try {
    const question = 'Start the daemon with the machine, and keep it up, as a service of your user?'
    await confirm({ action: 'Installing the service', question, yes: false })
    const { installService } = await import('../service/install.ts')
    await installService({ scope: 'user', now: false, yes: false }, context)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    print(context, [error.code === 'not_confirmed' ? hint : `${error.message} ${error.next}`])
  }
}

/** Indexes the code. A project is set up without it, too: then the reason is shown. */
async function indexProject(
  project: string,
  context: CommandContext,
): Promise<IndexedCode | { problem: string } | undefined> {
  const [{ indexCode }, { openClient }] = await Promise.all([
    import('../code/index-code.ts'),
    import('../../connection/client.ts'),
  ])
  try {
    const { config } = await loadConfig({ paths: context.paths, env: context.env, project })
    if (!config.knowledge.enabled) return undefined
    return await indexCode({ project }, await openClient(context.paths, context), context)
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

async function describeIndex(
  index: IndexedCode | { problem: string },
  { terminal }: Pick<CommandContext, 'terminal'>,
): Promise<string[]> {
  if ('problem' in index) return [`${terminal.paint('yellow', '!')} ${neutral(index.problem)}`]
  return (await import('../code/index-code.ts')).indexLines(index, terminal)
}

interface WantedTasks {
  file: string
  tasks: ImportedTask[]
}

async function readWantedTasks(file: string | undefined): Promise<WantedTasks | undefined> {
  if (file === undefined) return undefined
  const { readTasks } = await import('./import-tasks.ts')
  return { file, tasks: await readTasks(file) }
}

interface ImportTarget {
  project: string
  dryRun: boolean
  context: CommandContext
}

async function importTasks(
  { file, tasks }: WantedTasks,
  { project, dryRun, context }: ImportTarget,
): Promise<TakenTasks> {
  const [{ findParent, importNewTasks }, { openClient }] = await Promise.all([
    import('./import-tasks.ts'),
    import('../../connection/client.ts'),
  ])
  const source = { file, count: tasks.length - (findParent(tasks) ? 1 : 0) }
  if (dryRun) return { ...source, added: [], known: 0, above: null }
  return showProgress('Importing the tasks', context, async () => {
    const client = await openClient(context.paths, context)
    return { ...source, ...(await importNewTasks(tasks, project, client)) }
  })
}

function print({ out }: CommandContext, lines: string[]): void {
  for (const line of lines) out(line)
}

/** Shows a line while the work runs, on a terminal only, and removes it afterwards. */
async function showProgress<T>(text: string, { json, quiet }: CommandContext, work: () => Promise<T>): Promise<T> {
  const isShown = process.stderr.isTTY === true && !json && !quiet
  if (isShown) process.stderr.write(`${text} …`)
  try {
    return await work()
  } finally {
    if (isShown) process.stderr.write('\r\x1b[K')
  }
}

/** The real path of the project. The home directory, any directory that contains it, and the root are refused unless forced. */
export function projectPath(
  path: string,
  { env, force }: { env: Record<string, string | undefined>; force: boolean },
): string {
  const given = resolve(path)
  const stats = statSync(given, { throwIfNoEntry: false })
  if (!stats) throw new AppError('project_missing', { path: given })
  if (!stats.isDirectory()) throw new AppError('project_not_directory', { path: given })
  const project = realpathSync(given)
  if (force) return project
  const home = resolveHome(env['HOME'] || homedir())
  if (project === home) throw new AppError('project_too_wide', { path: project, what: 'your home directory' })
  if (project === sep || home.startsWith(project + sep)) {
    throw new AppError('project_too_wide', { path: project, what: 'a directory that holds your home directory' })
  }
  return project
}

function resolveHome(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path) // a home that does not exist contains no project
  }
}

/** The settings that a project has before `pcc init`. */
export interface SettingsRemarks {
  /** A settings file further up in the same checkout, which applies already. */
  above?: string
  remarks: string[]
}

/** Checks the existing settings files: an invalid one is reported, and one further up must not be hidden by accident. */
async function checkSettings(
  project: string,
  { git }: ProjectFacts,
  home = process.env['HOME'] || homedir(),
): Promise<SettingsRemarks> {
  const nearest = await findProjectFile(project, home)
  if (nearest === undefined) return { remarks: [] }
  const remarks = await readConfigFile(nearest, home).then(
    () => [],
    (error: unknown) => [`${messageOf(error)} It is left as it is, and no session starts here until it is corrected.`],
  )
  if (nearest === join(project, '.perpetualcc.toml')) return { remarks }
  const isInCheckout = git !== undefined && `${dirname(nearest)}${sep}`.startsWith(`${git.top}${sep}`)
  if (isInCheckout) return { above: nearest, remarks }
  return { remarks: [...remarks, `From now on the project's own settings apply here, and ${nearest} does not.`] }
}

/** What a person should know besides what was done. */
function factRemarks({ git, problems, is_cut }: ProjectFacts): string[] {
  return [
    ...(git === undefined
      ? [
          'This is not a git repository: changes by agents cannot be reviewed or undone. After git init, run pcc init again.',
        ]
      : []),
    ...(is_cut ? ['The project is too large to be examined in full: the deepest folders were left out.'] : []),
    ...problems.slice(0, MAX_PROBLEMS).map(({ file, problem }) => `${file} could not be understood: ${problem}`),
    ...(problems.length > MAX_PROBLEMS
      ? [`${problems.length - MAX_PROBLEMS} more files could not be understood.`]
      : []),
  ]
}

const MAX_PROBLEMS = 8
