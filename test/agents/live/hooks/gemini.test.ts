import { test } from 'node:test'
import { BY_REFUSAL, isHeldByHooks, QUESTION } from '../../hooks/by-hand.ts'
import { GEMINI_MODEL, geminiOnceEnv } from '../../programs/gemini.ts'
import { program } from '../../programs/programs.ts'

test('Gemini CLI in a terminal of a person is refused a HIGH call, allowed an everyday one, answered from memory and held by a failing test, with and without the daemon', t =>
  isHeldByHooks(t, {
    vendor: 'gemini',
    settings: '.gemini/settings.json',
    env: geminiOnceEnv,
    // Otherwise it asks about the everyday call by its own policy, whatever a hook says.
    command: prompt => [program('gemini'), '-m', GEMINI_MODEL, '--approval-mode', 'yolo', '-i', prompt],
    shell: command => ({ run_shell_command: { command } }),
    ask: { ask_user: { questions: [{ ...QUESTION, type: 'choice', multiSelect: false }] } },
    answered: BY_REFUSAL,
  }))
