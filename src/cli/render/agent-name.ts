import { firstLine } from './text.ts'

const NAMES: Record<string, { speaker: string; program: string }> = {
  claude: { speaker: 'Claude', program: 'Claude Code' },
  'claude-acp': { speaker: 'Claude', program: 'Claude Code over ACP' },
  gemini: { speaker: 'Gemini', program: 'Gemini CLI' },
  codex: { speaker: 'Codex', program: 'Codex' },
}

/** What a session's agent is called where it speaks, and what its program is. */
export function agentName(agent: string | undefined): { speaker: string; program: string } {
  const name = firstLine(agent ?? 'claude')
  return Object.hasOwn(NAMES, name)
    ? (NAMES[name] ?? { speaker: name, program: name })
    : { speaker: name, program: name }
}
