import type { LoadedConfig } from '../../domain/config/load.ts'
import type { LoadedRules } from '../../policy/rules/load.ts'
import { idleRules } from '../../policy/verdict/allowed-tools.ts'

interface Noted {
  loaded: LoadedConfig
  rules: LoadedRules
  /** What is said of the settings of the agent's own that the project brings. */
  sources: string | undefined
  allowedTools: string[]
}

/** What the person should know of a session that starts: what is left out until the project is trusted, and what has no effect. */
export function startNotes({ loaded, rules, sources, allowedTools }: Noted): string[] {
  return [
    ...untrustedNote(loaded),
    ...(sources === undefined ? [] : [sources]),
    ...rulesNotes(rules),
    ...idleNote(allowedTools),
  ]
}

function untrustedNote({ projectFile, untrusted }: LoadedConfig): string[] {
  if (untrusted.length === 0) return []
  return [`${projectFile}: left out until you agree to it with pcc trust: ${untrusted.join(', ')}`]
}

function rulesNotes({ problem, waiting }: LoadedRules): string[] {
  return [
    ...(problem ? [`${problem.message} ${problem.next}`] : []),
    ...(waiting.length > 0
      ? ["The project's own allow rules are left out until you agree to them with pcc trust."]
      : []),
  ]
}

function idleNote(rules: string[]): string[] {
  const idle = idleRules(rules)
  if (idle.length === 0) return []
  return [
    `--allowed-tools ${idle.join(', ')} lets nothing through: name the commands, as in Bash(npm test) or Bash(npm run:*).`,
  ]
}
