import { type Command, Option } from 'commander'
import { FeatureUntil } from '../../domain/feature-phase.ts'
import { commandContext, ExitCode } from '../context.ts'
import { budgetOption, refuseInSession } from '../options.ts'
import type { CreateFlags } from './feature-create.ts'

const PROJECT_FLAG = ['--project <path>', 'the project directory (default: this one)'] as const
const JSON_FLAG = ['--json', 'print JSON'] as const

interface ProjectOptions {
  project?: string
}

/** `pcc feature …`: turns an idea into tasks. */
export function addFeatureCommand(program: Command): void {
  const feature = program
    .command('feature')
    .description('Turn an idea into tasks: an interview, a spec, a plan, and its tasks')
  addCreateCommand(feature)

  feature
    .command('list')
    .description('List the features of a project and how far each is')
    .option(...PROJECT_FLAG)
    .option(...JSON_FLAG)
    .action(async ({ project }: ProjectOptions, command: Command) =>
      (await import('./feature-show.ts')).listFeatures(project, await commandContext(command)),
    )

  feature
    .command('show')
    .description('Show everything about one feature: its phase, its spec, its plan, its tasks')
    .argument('<name>')
    .option(...PROJECT_FLAG)
    .option(...JSON_FLAG)
    .action(async (name: string, { project }: ProjectOptions, command: Command) =>
      (await import('./feature-show.ts')).showFeature(name, project, await commandContext(command)),
    )

  feature
    .command('edit')
    .description('Open the spec of a feature in your editor ($VISUAL or $EDITOR)')
    .argument('<name>')
    .option('--plan', 'open its plan instead')
    .option(...PROJECT_FLAG)
    .option('--json', 'only print where the file is, as JSON')
    .action(async (name: string, { project, plan }: ProjectOptions & { plan?: true }, command: Command) =>
      (await import('./feature-show.ts')).editFeature(
        name,
        { project, kind: plan ? 'plan' : 'spec' },
        await commandContext(command),
      ),
    )

  feature
    .command('delete')
    .description('Forget a feature and end its session; its files and tasks stay unless you say otherwise')
    .argument('<name>')
    .option('--files', 'remove its spec and its plan too')
    .option('--tasks', 'remove its tasks too')
    .option('--yes', 'do not ask')
    .option(...PROJECT_FLAG)
    .option(...JSON_FLAG)
    .action(
      async (name: string, flags: ProjectOptions & { files?: true; tasks?: true; yes?: true }, command: Command) => {
        const context = await commandContext(command)
        refuseInSession(context.env, `feature delete ${name}`)
        await (await import('./feature-show.ts')).deleteFeature(name, flags, context)
      },
    )
}

function addCreateCommand(feature: Command): void {
  feature
    .command('create')
    .description('Make a feature, or go on with one that is not ready: interview, spec, plan, tasks')
    .argument('<name>', 'one word: it names a directory, and the target of pcc run')
    .option('--from <file>', 'what you want, written down: no interview ("-" reads standard input)')
    .option('--no-ai', 'ask no agent: the tasks are the check-list of the plan')
    .addOption(new Option('--until <phase>', 'stop after this, for you to read and edit').choices(FeatureUntil.options))
    .option('--yes', 'go on to the tasks without stopping in between')
    .option(
      '--agent <command>',
      'the agent that works on it: claude, another one, or a command line (agent.command; see: pcc agents list)',
    )
    .option('--model <name>', 'the model that the agents use')
    .option('--budget <amounts>', 'the most that each of its sessions may spend, as in "2 usd, 30m"', budgetOption)
    .option('--detach', 'leave it in the background')
    .option(...PROJECT_FLAG)
    .option('--json', 'print the feature as JSON when it stops')
    .action(async (name: string, flags: CreateFlags, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, `feature create ${name}`)
      const { createFeature } = await import('./feature-create.ts')
      throw new ExitCode(await createFeature(name, flags, context))
    })
}
