import { GEMINI_MODEL, geminiEnv } from '../../programs/gemini.ts'
import { twelveTasks } from './twelve-tasks.ts'

twelveTasks('Gemini CLI', { agent: 'gemini', model: GEMINI_MODEL, program: 'gemini', env: geminiEnv })
