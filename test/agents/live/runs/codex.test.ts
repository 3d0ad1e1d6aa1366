import { codexEnv } from '../../programs/codex.ts'
import { twelveTasks } from './twelve-tasks.ts'

twelveTasks('Codex', { agent: 'codex', program: 'codex', asks: true, travels: 'SIMULATOR_KEY', env: codexEnv })
