import { parentPort } from 'node:worker_threads'
import { parseShell } from './parse.ts'

// Reads one command at a time for `openReader`; its owner ends it when that takes too long.
parentPort?.on('message', (source: string) => parentPort?.postMessage(parseShell(source)))
