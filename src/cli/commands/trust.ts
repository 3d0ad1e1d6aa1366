import { resolve } from 'node:path'
import type { Command } from 'commander'
import { neutral } from '../../base/neutral.ts'
import { quoteForShell } from '../../base/words.ts'
import type { TrustStatus } from '../../policy/trust/trust.ts'
import { type CommandContext, commandContext } from '../context.ts'

/** `pcc trust [path]`, `pcc trust status`, `pcc trust revoke`. Their code is imported on use, because completion needs only their names. */
export function addTrustCommand(program: Command): void {
  const trust = program
    .command('trust')
    .description('Agree to what a project brings in: hooks, MCP servers, environment, allow rules, settings')
    .argument('[path]', 'the project', '.')
    .option('--yes', 'agree without being asked')
    .option('--json', 'print JSON')
    .action(async (path: string, options: { yes?: boolean }, command: Command) => {
      const context = await commandContext(command)
      const { grantTrust, trustStatus } = await import('../../policy/trust/trust.ts')
      const status = await trustStatus(context.paths, resolve(path))
      const isSettled = status.state === 'nothing-to-trust' || status.state === 'trusted'
      if (isSettled && !status.git) return printStatus(context, status)
      await refuse(context.env, `trust ${quoteForShell(path)}`)
      if (!context.json) for (const line of contentLines(status, context)) context.out(line)
      const { confirm } = await import('../input.ts')
      await confirm({
        action: `Trusting ${status.project}`,
        question: 'Let this content take effect in sessions of this project?',
        yes: options.yes === true,
      })
      const { recordWith } = await import('./accept.ts')
      await grantTrust(context.paths, status, { record: recordWith(context.paths) })
      printStatus(context, await trustStatus(context.paths, status.project))
    })

  trust
    .command('status')
    .description('Show what a project brings in and whether you agreed to it')
    .argument('[path]', 'the project', '.')
    .option('--json', 'print JSON')
    .action(async (path: string, _options: object, command: Command) => {
      await showTrust(path, await commandContext(command))
    })

  trust
    .command('revoke')
    .description('Withdraw your agreement')
    .argument('[path]', 'the project', '.')
    .option('--json', 'print JSON')
    .action(async (path: string, _options: object, command: Command) => {
      const context = await commandContext(command)
      await refuse(context.env, `trust revoke ${quoteForShell(path)}`)
      const project = resolve(path)
      const { revokeTrust } = await import('../../policy/trust/trust.ts')
      const { recordWith } = await import('./accept.ts')
      const revoked = await revokeTrust(context.paths, project, recordWith(context.paths))
      const sentence = revoked ? `No longer trusted: ${project}` : `Nothing to revoke: ${project} was not trusted.`
      context.out(context.json ? JSON.stringify({ project, revoked }) : neutral(sentence))
    })
}

/** `pcc trust status`. */
export async function showTrust(path: string, context: CommandContext): Promise<void> {
  const { trustStatus } = await import('../../policy/trust/trust.ts')
  const status = await trustStatus(context.paths, resolve(path))
  if (!context.json && status.files.length > 0) for (const line of contentLines(status, context)) context.out(line)
  printStatus(context, status)
}

async function refuse(env: CommandContext['env'], command: string): Promise<void> {
  const { refuseInSession } = await import('../options.ts')
  refuseInSession(env, command)
}

function printStatus(context: CommandContext, status: TrustStatus): void {
  context.out(context.json ? JSON.stringify(status, null, 2) : neutral(describeStatus(status)))
}

function describeStatus(status: TrustStatus): string {
  const { git, project } = status
  const waiting =
    git &&
    `Git runs nothing of this for agents until you agree (pcc trust ${quoteForShell(project)}): ${git.join(', ')}.`
  return [describeState(status), ...(waiting ? [waiting] : [])].join('\n')
}

function describeState({ state, project, changed, since }: TrustStatus): string {
  const sinceText = since === undefined ? '' : ` since ${formatDay(since)}`
  switch (state) {
    case 'nothing-to-trust':
      return `Nothing to trust in ${project}: none of its files runs code or widens rights.`
    case 'trusted':
      return `Trusted${sinceText}: ${project}`
    case 'untrusted':
      return `Not trusted: ${project}. To agree: pcc trust ${quoteForShell(project)}`
    case 'changed':
      return `Changed${sinceText}: ${changed.join(', ')}. To agree again: pcc trust ${quoteForShell(project)}`
  }
}

/** Everything that a person agrees to. Texts from the repository are made safe to print. */
function contentLines(status: TrustStatus, { terminal }: CommandContext): string[] {
  const lines = [`Project: ${neutral(status.project)}`, 'These files run code or widen what an agent may do:', '']
  for (const file of status.files) {
    const mark = status.changed.includes(file.path) ? terminal.paint('yellow', '  (changed)') : ''
    lines.push(`  ${terminal.paint('bold', neutral(file.path))}${mark}`)
    lines.push(...file.contains.map(({ text }) => `    ${neutral(text)}`))
    if (file.kind === 'scripts') lines.push(`    script, sha256 ${file.sha256.slice(0, 16)}`)
    if (file.refused) lines.push(terminal.paint('red', `    cannot be agreed to: ${neutral(file.refused.problem)}`))
  }
  const removed = status.changed.filter(path => !status.files.some(file => file.path === path))
  lines.push(...removed.map(path => `  ${neutral(path)}  (gone)`), '')
  return lines
}

function formatDay(time: number): string {
  return new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
}
