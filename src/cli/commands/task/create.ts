import type { Command } from 'commander'
import type { CreateOptions } from '../../tasks/create-tasks.ts'
import { taskCall } from './call.ts'
import { collect } from './options.ts'

/** `pcc task create`. */
export function addCreateCommand(task: Command): void {
  task
    .command('create')
    .description('Say what you want; an agent that can only read makes tasks of it, and you say yes or no.')
    .argument('[text]', 'what you want, in a sentence or more; - reads standard input')
    .option('-f, --file <path>', 'read it from this file; - reads standard input')
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--feature <name>', 'the feature that they belong to')
    .option('--parent <task>', 'they are parts of this task')
    .option('--after <task>', 'they come after this task; may be repeated', collect)
    .option('--agent <command>', 'who makes them: claude, codex, … or a command line (agent.command)')
    .option('--model <name>', "the agent's model")
    .option('--dry-run', 'only show them')
    .option('-y, --yes', 'store them without asking')
    .option('--json', 'print JSON')
    .action(async (text: string | undefined, options: CreateOptions & { file?: string }, command: Command) => {
      const [{ wantedText }, { createTasks }] = await Promise.all([
        import('../../tasks/wanted-text.ts'),
        import('../../tasks/create-tasks.ts'),
      ])
      const { client, ...context } = await taskCall(command, { writes: true })
      const wanted = await wantedText({ text, file: options.file, command: 'task create', ask })
      await createTasks(wanted, options, { client, context })
    })
}

async function ask(): Promise<string> {
  const { personAtTerminal } = await import('../../config/brain/person.ts')
  const person = await personAtTerminal('Creating tasks')
  return person.text('What do you want done?', 'Let people reset their password by mail')
}
