import { placesFor } from '../../../src/base/places.ts'
import { runDaemon } from '../../../src/daemon/main.ts'

// A daemon as a process of its own, from source: only there can it be told to die at a step.
process.exit(await runDaemon({ places: placesFor({ env: process.env }), env: process.env }))
