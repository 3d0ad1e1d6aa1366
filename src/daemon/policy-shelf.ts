import type { Assessment } from '../domain/assessment.ts'
import type { Classifier, Question } from '../policy/classify/classify.ts'
import type { LoadedRules, LoadRules, RulesLoader } from '../policy/rules/load.ts'

/** The daemon's one classifier and its memory of the last good rules. */
export interface PolicyShelf extends Disposable {
  classify(question: Question): Promise<Assessment>
  loadRules(options: LoadRules): Promise<LoadedRules>
}

/** Made when first needed: a daemon without sessions need not hold them. The classifier's worker ends with the shelf. */
export function policyShelf(): PolicyShelf {
  let classifier: Promise<Classifier> | undefined
  let rules: Promise<RulesLoader> | undefined
  return {
    async classify(question) {
      classifier ??= import('../policy/classify/classify.ts').then(({ openClassifier }) => openClassifier())
      return (await classifier).classify(question)
    },
    async loadRules(options) {
      rules ??= import('../policy/rules/load.ts').then(({ openRules }) => openRules())
      return (await rules).load(options)
    },
    [Symbol.dispose]() {
      classifier?.then(opened => opened[Symbol.dispose]()).catch(() => undefined)
    },
  }
}
