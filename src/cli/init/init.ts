import type { ProjectFacts } from '../../domain/project/project-facts.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'
import { detectProject } from '../../workspace/detect/detect-project.ts'
import { gateCommandsFrom } from '../../workspace/detect/gate-commands.ts'
import { readerOf } from '../../workspace/detect/reader.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import type { Context } from '../context.ts'
import { applySteps } from './files/apply.ts'
import { planSteps } from './files/plan.ts'
import type { Step } from './files/step.ts'
import type { InitOptions } from './options.ts'
import { jsonOf, type Outcome, type TakenTasks } from './outcome.ts'
import { endOf, pageOf } from './page.ts'
import { during } from './progress.ts'
import { projectPath } from './project-path.ts'
import { lookAtSettings, remarksOn } from './remarks.ts'
import { FOLDER_README, FOLDERS } from './texts/folder.ts'
import { settingsText } from './texts/settings.ts'
import { skillFiles } from './texts/skills.ts'

export interface InitCall {
  path: string
  options: InitOptions
  context: Context
}

/** Looks at a project, writes what is missing, takes the tasks of a file, and says what it did and what comes next. */
export async function initProject({ path, options, context }: InitCall): Promise<void> {
  refuseInSession(context.env, 'init …')
  const project = projectPath(path, { env: context.env, force: options.force === true })
  // A file of requirements that is wrong is refused before anything is written.
  const wanted = await wantedTasks(options.requirements)
  const facts = await during('Looking through the project', context, () => detectProject(readerOf(project), project))
  const settings = await lookAtSettings(project, facts, context.env['HOME'])
  const steps = stepsFor(project, facts, settings.above)
  const dryRun = options.dryRun === true
  if (!dryRun) applySteps(project, steps)

  const remarks = [
    ...settings.remarks,
    ...remarksOn(facts, { skipIndex: options.skipIndex === true }),
    ...gatesRemark(facts, steps),
  ]
  const outcome: Outcome = { project, given: path, dryRun, facts, steps, remarks }
  if (!context.json) print(context, pageOf(outcome, context.terminal))
  const tasks = wanted && (await takeTasks(wanted, { project, dryRun, context }))
  if (context.json) print(context, [JSON.stringify(jsonOf(outcome, tasks), null, 2)])
  else print(context, endOf(outcome, tasks, context.terminal))
}

function stepsFor(project: string, facts: ProjectFacts, above: string | undefined): Step[] {
  const settings = { path: '.perpetualcc.toml', content: settingsText(facts) }
  const held: Step[] = above === undefined ? [] : [{ path: settings.path, does: 'leave', why: `${above} holds here` }]
  const things = [...(above === undefined ? [settings] : []), FOLDER_README, ...FOLDERS, ...skillFiles(facts)]
  return [...held, ...planSteps(project, { things, ignore: facts.git !== undefined })]
}

/** Only when they were written just now: whoever has agreed needs not be told again. */
function gatesRemark({ commands }: ProjectFacts, steps: readonly Step[]): string[] {
  const isNew = steps.some(({ path, does }) => path === '.perpetualcc.toml' && does === 'create')
  const gates = gateCommandsFrom(commands).filter(({ caution }) => caution === undefined)
  if (!isNew || gates.length === 0) return []
  const names = gates.map(({ gate }) => gate).join(', ')
  return [
    `The gates in .perpetualcc.toml (${names}) run code of this project: look at them, then agree with pcc trust.`,
  ]
}

interface WantedTasks {
  file: string
  tasks: ImportedTask[]
}

async function wantedTasks(file: string | undefined): Promise<WantedTasks | undefined> {
  if (file === undefined) return undefined
  const { tasksIn } = await import('./import-tasks.ts')
  return { file, tasks: await tasksIn(file) }
}

interface Where {
  project: string
  dryRun: boolean
  context: Context
}

async function takeTasks({ file, tasks }: WantedTasks, { project, dryRun, context }: Where): Promise<TakenTasks> {
  const [{ aboveAll, importNew }, { openClient }] = await Promise.all([
    import('./import-tasks.ts'),
    import('../client.ts'),
  ])
  const counted = { file, count: tasks.length - (aboveAll(tasks) ? 1 : 0) }
  if (dryRun) return { ...counted, added: [], known: 0, above: null }
  return during('Taking the tasks', context, async () => {
    const client = await openClient(context.places, context)
    return { ...counted, ...(await importNew(tasks, project, client)) }
  })
}

function print({ out }: Context, lines: string[]): void {
  for (const line of lines) out(line)
}
