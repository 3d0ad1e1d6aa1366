import { type Command, Option } from 'commander'
import { FeatureUntil } from '../../domain/feature.ts'
import { contextOf, ExitCode } from '../context.ts'
import { budgetOption, refuseInSession } from '../options.ts'
import type { CreateFlags } from './feature-create.ts'

const PROJECT = ['--project <path>', 'the project directory (default: this one)'] as const
const JSON_FLAG = ['--json', 'print JSON'] as const

interface InProject {
  project?: string
}

/** `pcc feature …`: from an idea to tasks. */
export function addFeatureCommand(program: Command): void {
  const feature = program
    .command('feature')
    .description('From an idea to tasks: an interview, a spec, a plan, and the tasks of it.')
  addCreate(feature)

  feature
    .command('list')
    .description('The features of a project and how far each is.')
    .option(...PROJECT)
    .option(...JSON_FLAG)
    .action(async ({ project }: InProject, command: Command) =>
      (await import('./feature-show.ts')).listFeatures(project, await contextOf(command)),
    )

  feature
    .command('show')
    .description('Everything about one feature: where it stands, its spec, its plan, its tasks.')
    .argument('<name>')
    .option(...PROJECT)
    .option(...JSON_FLAG)
    .action(async (name: string, { project }: InProject, command: Command) =>
      (await import('./feature-show.ts')).showFeature(name, project, await contextOf(command)),
    )

  feature
    .command('edit')
    .description('Open the spec of a feature in your editor ($VISUAL or $EDITOR).')
    .argument('<name>')
    .option('--plan', 'its plan instead')
    .option(...PROJECT)
    .option('--json', 'only print where the file is, as JSON')
    .action(async (name: string, { project, plan }: InProject & { plan?: true }, command: Command) =>
      (await import('./feature-show.ts')).editFeature(
        name,
        { project, kind: plan ? 'plan' : 'spec' },
        await contextOf(command),
      ),
    )

  feature
    .command('delete')
    .description('Forget a feature and end what is at it. Its files and its tasks stay, where nothing else is said.')
    .argument('<name>')
    .option('--files', 'remove its spec and its plan too')
    .option('--tasks', 'remove its tasks too')
    .option('--yes', 'do not ask')
    .option(...PROJECT)
    .option(...JSON_FLAG)
    .action(async (name: string, flags: InProject & { files?: true; tasks?: true; yes?: true }, command: Command) => {
      const context = await contextOf(command)
      refuseInSession(context.env, `feature delete ${name}`)
      await (await import('./feature-show.ts')).deleteFeature(name, flags, context)
    })
}

function addCreate(feature: Command): void {
  feature
    .command('create')
    .description('Make a feature, or go on with one that is not ready: interview, spec, plan, tasks.')
    .argument('<name>', 'one word: it names a directory, and the target of pcc run')
    .option('--from <file>', 'what you want, written down: no interview ("-" reads standard input)')
    .option('--no-ai', 'ask no agent: the tasks are the check-list of the plan')
    .addOption(new Option('--until <phase>', 'stop after this, for you to read and edit').choices(FeatureUntil.options))
    .option('--yes', 'go on to the tasks without stopping between')
    .option(
      '--agent <command>',
      'who works at it: claude, codex, … or a command line (agent.command; see: pcc agents list)',
    )
    .option('--model <name>', 'the model that the agents use')
    .option('--budget <amounts>', 'most that each of its sessions may spend, as in "2 usd, 30m"', budgetOption)
    .option('--detach', 'leave it in the background')
    .option(...PROJECT)
    .option('--json', 'print the feature as JSON when it stands still')
    .action(async (name: string, flags: CreateFlags, command: Command) => {
      const context = await contextOf(command)
      refuseInSession(context.env, `feature create ${name}`)
      const { createFeature } = await import('./feature-create.ts')
      throw new ExitCode(await createFeature(name, flags, context))
    })
}
