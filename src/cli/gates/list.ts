import { loadConfig } from '../../domain/config/load.ts'
import { GATE_COMMANDS, gatesIn } from '../../workspace/verify/gate-settings.ts'
import { PROFILES } from '../../workspace/verify/profiles.ts'
import type { Context } from '../context.ts'
import { loadSettings } from '../load-settings.ts'
import { neutral, pad } from '../render/text.ts'
import { checkLine } from './lines.ts'
import { gateTarget } from './target.ts'

/** Shows the gates of a project, and what they saw of a task. */
export async function listGates(target: string, context: Context): Promise<void> {
  const { project, task } = await gateTarget(target, context)
  const loaded = await loadSettings({ ...context, project })
  const gates = gatesIn(loaded.config)
  const profile = PROFILES[gates.profile]
  // What the project's file says and nobody has agreed to yet.
  const proposed = gatesIn((await loadConfig({ ...context, project, trusted: () => true })).config)
  const rows = GATE_COMMANDS.map(gate => ({
    gate,
    command: gates.commands[gate] ?? null,
    waits_for_trust: gates.commands[gate] === undefined ? (proposed.commands[gate] ?? null) : null,
    in_profile: profile.commands.includes(gate),
    origin: loaded.origin(`gates.${gate}`),
  }))
  if (context.json) {
    const { rounds, timeoutMs, verifier } = gates
    const more = { rounds, timeout_seconds: timeoutMs / 1000, verifier, task: task ?? null }
    context.out(JSON.stringify({ project, profile: gates.profile, gates: rows, ...more }, null, 2))
    return
  }
  const { paint } = context.terminal
  context.out(`${neutral(project)}: profile ${gates.profile}`)
  for (const { gate, command, waits_for_trust, in_profile } of rows) {
    const said =
      command !== null
        ? `${neutral(command)}${in_profile ? '' : paint('dim', `  not in profile ${gates.profile}`)}`
        : waits_for_trust !== null
          ? `${neutral(waits_for_trust)}  ${paint('yellow', 'waits for your: pcc trust')}`
          : paint('dim', 'not set')
    context.out(`  ${pad(gate, 10)} ${said}`)
  }
  if (rows.every(({ command, waits_for_trust }) => command === null && waits_for_trust === null))
    context.out('No command is set: nothing proves that a task is done. Find them with: pcc gates detect')
  if (!task) return
  context.out('')
  context.out(`${task.id} ${neutral(task.title)}`)
  if (task.evidence.length === 0) context.out('  No gate has looked at it yet.')
  for (const check of task.evidence) for (const line of checkLine(check, context.terminal)) context.out(line)
}
