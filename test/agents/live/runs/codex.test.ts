import { codexEnv } from '../../programs/codex.ts'
import { twelveTasks } from './twelve-tasks.ts'

twelveTasks('Codex', { agent: 'codex', program: 'codex', travels: 'SIMULATOR_KEY', env: codexEnv })
