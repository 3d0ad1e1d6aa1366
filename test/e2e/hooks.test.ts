import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isHeldByHooks, QUESTION } from '../agents/hooks/by-hand.ts'
import { claudeBinary } from '../simulator/claude.ts'
import { agentEnv } from '../support/world.ts'

test('Claude Code in a terminal of a person is refused a HIGH call, allowed an everyday one, answered from memory and held by a failing test, once for the same files, and by an agent that judges', t =>
  isHeldByHooks(t, {
    vendor: 'claude',
    settings: '.claude/settings.json',
    env(home, url) {
      const env = agentEnv(home, url)
      mkdirSync(join(home, '.claude'))
      writeFileSync(join(home, '.claude/settings.json'), '{\n  "model": "opus"\n}\n')
      return env
    },
    async agree({ home, project, env }) {
      const approved = [env['ANTHROPIC_API_KEY']?.slice(-20)]
      const answers = {
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved, rejected: [] },
        projects: { [project]: { hasTrustDialogAccepted: true } },
      }
      writeFileSync(join(home, '.claude/.claude.json'), JSON.stringify(answers))
    },
    command: prompt => [claudeBinary(), '--permission-mode', 'default', prompt],
    shell: command => ({ Bash: { command, description: 'a step' } }),
    ask: { AskUserQuestion: { questions: [{ ...QUESTION, multiSelect: false }] } },
    judged: 'verifier = "on"',
    answered: /Your questions have been answered: [^}]*Which database should I use[^}]*Postgres/,
  }))
