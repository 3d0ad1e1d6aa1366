import type { Command } from 'commander'
import { addBriefCommand } from './brief.ts'
import { addCreateCommand } from './create.ts'
import { addDepsCommand } from './deps.ts'
import { addFileCommands } from './files.ts'
import { addLookCommands } from './look.ts'
import { addSayCommands } from './say.ts'
import { addWriteCommands } from './write.ts'

/** `pcc task …`: a project's tasks and their graph. */
export function addTaskCommand(program: Command): void {
  const task = program
    .command('task')
    .description('A project’s tasks: what is to be done, what comes after what, how far it is.')
  addWriteCommands(task)
  addCreateCommand(task)
  addLookCommands(task)
  addSayCommands(task)
  addDepsCommand(task)
  addFileCommands(task)
  addBriefCommand(task)
}
