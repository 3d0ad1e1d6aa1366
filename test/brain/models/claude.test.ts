import { brainConformance } from './conformance.ts'

brainConformance('claude')
