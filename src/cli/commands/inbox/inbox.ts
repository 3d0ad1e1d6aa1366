import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { commandContext, isInteractive } from '../../context.ts'
import { refuseInSession } from '../../options.ts'

/** `pcc inbox`: lets a person work through everything that waits for them, with single keys. */
export function addInboxCommand(program: Command): void {
  program
    .command('inbox')
    .description('Work through everything that waits for your decision, with single keys, in full screen')
    .action(async (_options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'inbox')
      if (!isInteractive(context)) {
        throw new AppError('usage', { problem: 'it needs a terminal; elsewhere use pcc pending', command: 'inbox' })
      }
      await (await import('./screen.ts')).runInbox(context)
    })
}
