import { enableCompileCache } from 'node:module'

// A daemon as a process of its own, without the command line around it. Like bin/pcc.js it keeps what it compiled.
enableCompileCache()
const { placesFor } = await import('../../src/base/places.ts')
const { runDaemon } = await import('../../src/daemon/main.ts')
process.exit(await runDaemon({ places: placesFor({ env: process.env }), env: process.env }))
