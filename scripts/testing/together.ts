import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// Several files of tests in one process: what they share is loaded once.
for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href)
