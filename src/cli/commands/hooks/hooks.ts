import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { HOOK_VENDORS, type HookVendor } from '../../../domain/hooks.ts'
import { commandContext } from '../../context.ts'
import { countOption } from '../../options.ts'
import type { HookChoice, HookScope } from './vendor-files.ts'

/** `pcc hooks install | uninstall | status | doctor | log`. Their code is imported on use, because completion needs only their names. */
export function addHooksCommand(program: Command): void {
  const hooks = program
    .command('hooks')
    .description(`Let pcc judge the calls of agents that you start yourself: ${HOOK_VENDORS.join(', ')}`)

  withChoice(hooks.command('install'), 'Add hooks of pcc to the settings of your agents; show the difference first')
    .option(
      '--http',
      'Claude Code only: ask the daemon over loopback, which is faster; without the daemon calls are blocked',
    )
    .option('--yes', 'change the settings without being asked')
    .action(async (options: HookOptions, command: Command) => {
      const { installHooks } = await import('./install.ts')
      await installHooks(readChoice(options, 'install'), await commandContext(command))
    })

  withChoice(hooks.command('uninstall'), 'Take the hooks of pcc out again, and nothing else')
    .option('--yes', 'change the settings without being asked')
    .action(async (options: HookOptions, command: Command) => {
      const { uninstallHooks } = await import('./install.ts')
      await uninstallHooks(readChoice(options, 'uninstall'), await commandContext(command))
    })

  withChoice(
    hooks.command('status'),
    'Show where hooks are installed, and which policies and profiles count here',
  ).action(async (options: HookOptions, command: Command) => {
    const { showHookStatus } = await import('./status.ts')
    await showHookStatus(readChoice(options, 'status'), await commandContext(command))
  })

  withChoice(hooks.command('doctor'), 'Try the hooks of each agent, and say what holds if they fail').action(
    async (options: HookOptions, command: Command) => {
      const { examineHooks } = await import('./doctor.ts')
      await examineHooks(readChoice(options, 'doctor'), await commandContext(command))
    },
  )

  hooks
    .command('log')
    .description('Show what agents that you started yourself did, and what was refused')
    .option('--tail <n>', 'the last n entries', countOption, 50)
    .option('-f, --follow', 'keep printing entries as they come')
    .option('--json', 'print events as JSON lines')
    .action(async (options: { tail: number; follow?: true }, command: Command) => {
      const { showHookLog } = await import('./log.ts')
      await showHookLog(options, await commandContext(command))
    })
}

function withChoice(command: Command, about: string): Command {
  return command
    .description(about)
    .option('--claude', 'Claude Code')
    .option('--codex', 'Codex')
    .option('--gemini', 'Gemini CLI')
    .option('--copilot', 'Copilot CLI')
    .option('--user', 'in your own settings (default)')
    .option('--project', 'in the settings of the project in this directory')
    .option('--json', 'print JSON')
}

type HookOptions = Partial<Record<HookVendor | HookScope | 'yes' | 'http', true>>

function readChoice(options: HookOptions, command: string): HookChoice {
  if (options.user && options.project)
    throw new AppError('usage', { problem: 'give --user or --project', command: `hooks ${command}` })
  const vendors = HOOK_VENDORS.filter(vendor => options[vendor])
  const http = options.http === true
  if (http && (options.project || (vendors.length > 0 && !vendors.includes('claude'))))
    throw new AppError('usage', {
      problem: '--http is for Claude Code in your own settings: it writes a key into the file',
      command: `hooks ${command}`,
    })
  const scope = options.project ? 'project' : options.user ? 'user' : undefined
  return { vendors, scope, yes: options.yes === true, http }
}
